# %% [markdown]
# # First steps
#
# A scenario says what is run: a fabric, the flows, a scheme. Its fields are those of scenario files.

# %%
import polars as pl

import tailrace

scenario = tailrace.Scenario(
    seed=1,
    fabric={"preset": "spine144", "leaves": 2, "spines": 2, "hosts_per_leaf": 8},
    workload={"sizes": "web-search", "load": 0.7, "flows": 1500},
    scheme={"name": "dctcp"},
    measure={"sample_every": "20us", "sample_ports": ["leaf0->host0"]},
)
dctcp = scenario.run(progress=True)
dctcp.plot()

# %% [markdown]
# Tables are Arrow: polars, pandas, pyarrow and DuckDB read them without a copy.

# %%
flows = dctcp.flows.to_polars()
flows.sort("slowdown", descending=True).select("src", "dst", "size_bytes", "fct_ns", "slowdown").head()

# %% [markdown]
# A scenario is a value. `with_` makes a changed copy, so a comparison is a loop. All schemes see the same
# flows, because these depend on the seed alone.

# %%
results = {name: scenario.with_(**{"scheme.name": name}).run() for name in ("tcp", "dctcp", "pias")}
comparison = pl.concat(
    result.summary().to_polars().with_columns(scheme=pl.lit(name)) for name, result in results.items()
)
comparison.pivot("class", index="scheme", values="fct_p99_us")

# %% [markdown]
# What a port's queue did meanwhile:

# %%
queue = results["pias"].queues.to_polars().filter(pl.col("metric") == "port_bytes")
queue["value"].describe()

# %% [markdown]
# Mistakes are told by field:

# %%
try:
    scenario.with_(**{"workload.sizes": "web-serach"}).run()
except tailrace.ScenarioError as error:
    print(error)
