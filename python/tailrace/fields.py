"""The fields of a scenario as types, for editors and type checkers. Written by python/fields.py.

At run time they are plain dicts: ``Fabric(preset="spine144")`` is ``{"preset": "spine144"}``.

>>> import tailrace
>>> from tailrace.fields import Fabric, Workload
>>> fabric = Fabric(preset="micro4", buffer="100KB")
>>> workload = Workload(sizes="web-search", load=0.6, flows=10)
>>> tailrace.Scenario(fabric=fabric, workload=workload, scheme={"name": "dctcp"}).run()
Result(dctcp: 10 measured flows, ... packet-hops)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

__all__ = [
    "Arrivals",
    "Balancing",
    "Bytes",
    "Collective",
    "Compute",
    "ComputeExp",
    "ComputeFixed",
    "Deadlines",
    "DeadlinesExp",
    "DeadlinesFixed",
    "DeadlinesGamma",
    "DeadlinesIdeal",
    "Fabric",
    "Failure",
    "FctEnd",
    "FlowLevel",
    "Gamma",
    "GraphStage",
    "Group",
    "Hosts",
    "HostsRacks",
    "Incast",
    "Level",
    "Link",
    "LiveLevel",
    "LossDetection",
    "MarkingAt",
    "Measure",
    "Multiple",
    "Objective",
    "OwnSizes",
    "OwnSizesBingLike",
    "OwnSizesBingLikeBingLike",
    "OwnSizesFile",
    "OwnSizesFixed",
    "OwnSizesLognormal",
    "OwnSizesLognormalLognormal",
    "OwnSizesMix",
    "OwnSizesPareto",
    "OwnSizesParetoPareto",
    "OwnSizesPoints",
    "OwnSizesUniform",
    "PairFilter",
    "Parallel",
    "Part",
    "PartitionAggregate",
    "Pattern",
    "PatternIncast",
    "Pipeline",
    "QueueLength",
    "QueueUnit",
    "Rate",
    "Reveals",
    "Round",
    "RtoMode",
    "Rule",
    "SamplePorts",
    "Scenario",
    "SchemeChoice",
    "Scope",
    "SharedBuffer",
    "Shuffle",
    "Sizes",
    "Slice",
    "Stack",
    "TaskRule",
    "Time",
    "TransportParams",
    "Units",
    "Workflow",
    "WorkflowAllToAll",
    "WorkflowGraph",
    "WorkflowParallel",
    "WorkflowPartitionAggregate",
    "WorkflowPipeline",
    "WorkflowRingAllReduce",
    "WorkflowShuffle",
    "WorkflowTreeAllReduce",
    "Workload",
]

Arrivals: TypeAlias = "Literal['poisson', 'periodic', 'once']"
"""When flows start."""

Balancing: TypeAlias = "Literal['ecmp', 'spray', 'spray-random', 'flowlet', 'flowcell']"
"""How switches choose among equal-cost ports."""

Bytes: TypeAlias = "str"
"""A number of bytes, for example "100KB"."""

Compute: TypeAlias = "ComputeFixed | ComputeExp"
"""How long a flow's sender computes before it sends."""

Deadlines: TypeAlias = "DeadlinesFixed | DeadlinesExp | DeadlinesIdeal | DeadlinesGamma"
"""When flows must be done, counted from their start; at least 1.25 times what each takes alone."""

FctEnd: TypeAlias = "Literal['receiver', 'acked']"
"""When a flow counts as complete."""

Group: TypeAlias = "int | Hosts"
"""A number of hosts next to each other, drawn for each task, or given hosts."""

Hosts: TypeAlias = "Sequence[int] | HostsRacks"
"""Hosts by their numbers, or all hosts of some racks."""

Level: TypeAlias = "Literal['packet', 'flow', 'live']"
"""What becomes of flows."""

LossDetection: TypeAlias = "Literal['duplicate-acks', 'timeout-only']"
"""How a sender finds out that a segment is lost."""

MarkingAt: TypeAlias = "Literal['enqueue', 'dequeue']"
"""When a port marks "congestion experienced"."""

Objective: TypeAlias = "Literal['deadline', 'completion']"
"""What the flows of a slice are for."""

OwnSizes: TypeAlias = "OwnSizesFile | OwnSizesPoints | OwnSizesFixed | OwnSizesUniform | OwnSizesPareto | OwnSizesLognormal | OwnSizesBingLike | OwnSizesMix"
"""Sizes that are not from a published table. Exactly one of these."""

PairFilter: TypeAlias = "Literal['all', 'ascending', 'descending']"
"""Which pairs of the pattern send. Each does so at the rate that it has in the whole pattern."""

Pattern: TypeAlias = "Literal['all-to-all', 'other-racks', 'permutation', 'pairs'] | PatternIncast"
"""Who sends to whom."""

QueueLength: TypeAlias = "str"
"""A queue length, for example "65pkt" or "30KB"."""

QueueUnit: TypeAlias = "Literal['bytes', 'packets']"
"""What buffers and marking thresholds count."""

Rate: TypeAlias = "str"
"""A rate, for example "10Gbps"."""

Reveals: TypeAlias = "Literal['deadline', 'size', 'nothing']"
"""What an application tells of its flows when they start (Karuna §2.1 calls them types 1, 2 and 3).
"""

Round: TypeAlias = "Literal['byte', 'packet']"
"""To what drawn sizes are rounded."""

RtoMode: TypeAlias = "Literal['standard', 'fixed']"
"""How the retransmission timeout behaves."""

SamplePorts: TypeAlias = "Literal['none', 'all'] | Sequence[str]"
"""Which ports are sampled."""

Scope: TypeAlias = "Literal['network', 'host']"
"""Which flows with deadlines a new one is counted with."""

Sizes: TypeAlias = "Literal['web-search', 'data-mining', 'web-search-bytes', 'data-mining-bytes', 'fb-cache', 'fb-hadoop', 'fb-webserver', 'fb-hadoop-hpcc', 'long-flow', 'mapreduce', 'data-analytics'] | OwnSizes"
"""Where flow sizes come from."""

Stack: TypeAlias = "Literal['tailrace', 'kernel']"
"""Whose packets a live run is made of."""

Time: TypeAlias = "str"
"""A time of at most 1000000s, for example "250ms"."""

Workflow: TypeAlias = "WorkflowParallel | WorkflowPartitionAggregate | WorkflowShuffle | WorkflowRingAllReduce | WorkflowTreeAllReduce | WorkflowAllToAll | WorkflowPipeline | WorkflowGraph"
"""What a task consists of. Exactly one of these."""


class Collective(TypedDict, total=False):
    """Hosts that take part in a collective operation."""

    hosts: Group
    """The hosts in their order: a number of neighbours, drawn for each task, or given ones."""


class ComputeExp(TypedDict, total=False):
    """Exponentially distributed with this mean, each flow by itself."""

    exp: Time


class ComputeFixed(TypedDict, total=False):
    """Always so long."""

    fixed: Time


class DeadlinesExp(TypedDict, total=False):
    """Exponentially distributed with this mean; 20 ms is tight, 40 ms lax on 1 Gbps (D3, D2TCP)."""

    exp: Time


class DeadlinesFixed(TypedDict, total=False):
    """The same for all."""

    fixed: Time


class DeadlinesGamma(TypedDict, total=False):
    """Flows get deadlines while the expected rates of those that have one stay below a share of the
    links (Karuna §8.2.1); the others reveal their size or nothing, each half of them. Classes are
    counted on from the rule's: deadline, size, nothing.
    """

    gamma: Gamma


class DeadlinesIdeal(TypedDict, total=False):
    """A multiple of the time that the flow takes alone (Karuna's prototype)."""

    ideal: Multiple


class Fabric(TypedDict, total=False):
    """The fabric: a kind with its fields, or a preset with fields that override it."""

    kind: Literal["star", "dumbbell", "parking-lot", "leaf-spine", "tree", "fat-tree", "graph"]
    """The structure."""
    preset: Literal["spine144", "spine144x3", "micro4", "fattree64", "rack16", "tree5x4", "tree36k"]
    """A fabric of a published experiment."""
    delay: Time
    """Delay of every link that has no own; "1us" if not given."""
    hosts: int | Sequence[str]
    """Number of hosts. Or: The hosts' names."""
    host_rate: Rate
    """Rate of a link between host and switch."""
    host_delay: Time
    """Delay of a link between host and switch."""
    left: int
    """Hosts at the left switch."""
    right: int
    """Hosts at the right switch."""
    bottleneck_rate: Rate
    """Rate of the link between the switches."""
    bottleneck_delay: Time
    """Delay of the link between the switches."""
    switches: int | Sequence[str]
    """Number of switches. Or: The switches' names; those that links name, in their order, unless
    given.
    """
    hosts_per_switch: int
    """Hosts at each switch."""
    row_rate: Rate
    """Rate of a link between neighbours in the row."""
    row_delay: Time
    """Delay of a link between neighbours in the row."""
    leaves: int
    """Number of leaf switches."""
    spines: int
    """Number of spine switches."""
    hosts_per_leaf: int
    """Hosts under each leaf."""
    spine_rate: Rate
    """Rate of a link between leaf and spine."""
    spine_delay: Time
    """Delay of a link between leaf and spine."""
    pods: int
    """Number of pods."""
    edges_per_pod: int
    """Edge switches in each pod."""
    hosts_per_edge: int
    """Hosts under each edge switch."""
    aggs_per_pod: int
    """Aggregation switches in each pod."""
    cores: int
    """Number of core switches, a multiple of `aggs_per_pod`."""
    edge_rate: Rate
    """Rate of a link between edge and aggregation switch."""
    core_rate: Rate
    """Rate of a link between aggregation and core switch."""
    edge_delay: Time
    """Delay of a link between edge and aggregation switch."""
    core_delay: Time
    """Delay of a link between aggregation and core switch."""
    radix: int
    """Ports of each switch. With three tiers and no oversubscription radix k gives k³/4 hosts."""
    tiers: int
    """Tiers of switches, 2 or 3; 3 unless given. 3 unless given."""
    oversubscription: int
    """Hosts of an edge switch for each of its links to other switches; 1 unless given. 1 unless
    given.
    """
    switch_rate: Rate
    """Rate of a link between switches; that of the hosts unless given."""
    switch_delay: Time
    """Delay of a link between switches."""
    link: Sequence[Link]
    """The links."""
    file: str
    """A file with the graph, instead of `hosts`, `switches` and `link`: GraphML, GML, a list of
    links (CSV or `a b 10Gbps 1us` in lines), HPCC's topology.txt or htsim's .topo.
    """
    rate: Rate
    """Rate of each link of a graph that has none of its own."""
    units: Units
    """What numbers in the file that have no unit are, such as { rate = "Gbps", delay = "us" }."""
    buffer: QueueLength
    """Memory of each port, shared by its queues: "360KB" or "240pkt", which is the same, unless
    `shared_buffer` is given.
    """
    shared_buffer: SharedBuffer
    """Memory that the ports of a switch share."""
    queue_unit: QueueUnit
    """What buffers and marking thresholds count: bytes, or packets of any size, each as 1500 bytes.
    "bytes" unless given.
    """
    marking_at: MarkingAt
    """When packets are marked. "enqueue" unless given."""
    cards_mark: bool
    """Whether the hosts' network cards mark as switches do. true unless given."""
    load_balancing: Balancing
    """How switches choose among equal-cost ports. "ecmp" unless given."""
    ecmp_seed: int
    """Seed of the hash that gives flows their paths under "ecmp"; 0 unless given. TOML's integers
    have a sign; it counts as a bit like all others.
    """
    flowlet_gap: Time
    """The pause that ends a burst under "flowlet"; "500us" unless given."""
    flowcell_size: Bytes
    """Bytes on the wire of a cell under "flowcell", which ends before the packet that would exceed
    them; 65536 unless given.
    """
    failure: Sequence[Failure]
    """Links and switches that fail."""
    convergence: Time
    """From a failure, or its end, to new routes at all switches: "0s" is at once. With failures it
    must be given.
    """


class Failure(TypedDict, total=False):
    """A link or a switch that fails."""

    link: str
    """The link, by one of its two ports, such as "leaf0->spine1": it fails in both directions."""
    switch: str
    """Or the switch, with all its links."""
    at: Time
    """When it fails."""
    until: Time
    """When it is back; never unless given."""


class FlowLevel(TypedDict, total=False):
    """What runs at flow level need to be told."""

    setup: Time
    """How long after its start a flow sends its first byte: what a scheme takes to set it up. If
    left out, so long that a flow which has the network to itself takes as long as its packets
    would.
    """
    feedback_delay: Time
    """How long after what changes them rates change: what feedback takes, such as a round trip. A
    flow has its first rate after its setup and this; what one that has ended leaves is idle for so
    long.
    """


class Gamma(TypedDict, total=False):
    """`{ share = 0.5 }`: Γ control."""

    share: float
    """Γ as a share of the links in its scope."""
    scope: Scope
    """Whose expected rates count: "network" or "host". "network" unless given."""
    factor: float
    """Deadlines are so many times what a flow takes alone, 200 us and its bytes at the rate of a
    host's link; 2, as in Karuna's prototype, if left out.
    """
    flow_share: float
    """Instead of that, deadlines by which a flow is done at this share of what Γ is of one host's
    link.
    """
    observed: bool
    """Expected rates are those of the flows in progress, which depend on the scheme; otherwise
    those that flows with deadlines start with count until these pass, and all schemes see the same
    flows.
    """
    round: Time
    """Deadlines are multiples of this, rounded up: Karuna's prototype tells them in milliseconds.
    "1ms" unless given.
    """


GraphStage = TypedDict(
    "GraphStage",
    {
        "name": "str",
        "from": "Hosts",
        "to": "Hosts",
        "after": "Sequence[str]",
        "selectivity": "float",
    },
    total=False,
)
"""A stage of a workflow: every host of `from` sends to every other of `to`."""


class HostsRacks(TypedDict, total=False):
    """Fields of HostsRacks."""

    racks: Sequence[int]


class Incast(TypedDict, total=False):
    """Bursts of flows from several senders to one receiver, as of a query and its answers."""

    receivers: Sequence[int]
    """Hosts that a burst may go to, all alike; every host if left out."""
    fan_in: int
    """Senders of a burst, drawn anew among the other hosts for each."""
    jitter: Time
    """Each flow of a burst starts up to this much later. "0s" unless given."""


class Link(TypedDict, total=False):
    """A link, the same in both directions."""

    ends: Sequence[str]
    """The names of the nodes that it joins."""
    rate: Rate
    """Its rate; that of `[fabric]` unless given."""
    delay: Time
    """Its delay; that of `[fabric]` unless given."""
    metric: int
    """What it adds to the length of a way: packets take the shortest. 1 unless given."""
    ecmp_weight: int
    """How much it carries of what is divided among equal-cost links, beside the others. 1 unless
    given.
    """


class LiveLevel(TypedDict, total=False):
    """What live runs need to be told."""

    stack: Stack
    """Whose packets they are. "tailrace" unless given."""
    tcp_congestion: str
    """With the kernel's: its congestion control, one of net.ipv4.tcp_available_congestion_control.
    If left out, the scheme's own law where hosts have agents and the kernel can have it, else the
    machine's default.
    """
    agent: bool
    """With the kernel's: hosts run the host agent, which does the scheme's part at hosts as it does
    on real ones.
    """


class Measure(TypedDict, total=False):
    """What of a run is measured, and when it ends."""

    warmup: Time
    """Flows that start earlier are not measured. "0s" unless given."""
    horizon: Time
    """The run is stopped then; when all flows have ended, if left out."""
    sample_every: Time
    """Time between two samples of the ports; no samples if left out."""
    sample_ports: SamplePorts
    """Ports to sample: "none", "all", or names such as `["leaf0->host0"]`. "none" unless given."""
    trace_every_flow: int
    """The congestion law of every n-th flow is traced, in schemes whose laws report something; none
    if left out.
    """
    short: Bytes
    """Short flows have at most this size. "100KB" unless given."""
    long: Bytes
    """Long flows are larger than this. "10MB" unless given."""


class Multiple(TypedDict, total=False):
    """`factor × (base + size / host rate)`, rounded up to whole `round`."""

    factor: float
    """How many times. 2.0 unless given."""
    base: Time
    """What a flow takes besides its bytes. "200us" unless given."""
    round: Time
    """Deadlines are multiples of this. "1ms" unless given."""


OwnSizesBingLike = TypedDict(
    "OwnSizesBingLike",
    {
        "bing-like": "OwnSizesBingLikeBingLike",
    },
    total=False,
)
"""Most alike and some heavy, as tasks of Bing (Baraat §5.2): 85 % uniform from 0.95 to 1.05 times
`base`, the others uniform between multiples of it.
"""


class OwnSizesBingLikeBingLike(TypedDict, total=False):
    """Fields of OwnSizesBingLikeBingLike."""

    base: Bytes
    """The usual size. "1.04MB" unless given."""
    heavy: Sequence[float]
    """Least and largest multiple of heavy ones. [3.0, 8.0] unless given."""


class OwnSizesFile(TypedDict, total=False):
    """A table in a file: `bytes probability` a line, `#` starts a comment."""

    file: str


class OwnSizesFixed(TypedDict, total=False):
    """All flows have this size."""

    fixed: Bytes


class OwnSizesLognormal(TypedDict, total=False):
    """Lognormal, cut off at `max`."""

    lognormal: OwnSizesLognormalLognormal


class OwnSizesLognormalLognormal(TypedDict, total=False):
    """Fields of OwnSizesLognormalLognormal."""

    median: Bytes
    """Half of the flows are smaller, before the cut."""
    sigma: float
    """Standard deviation of the natural logarithm."""
    max: Bytes
    """Largest size."""


class OwnSizesMix(TypedDict, total=False):
    """Each flow's size is drawn from one of several, chosen by weight."""

    mix: Sequence[Part]


class OwnSizesPareto(TypedDict, total=False):
    """Bounded Pareto."""

    pareto: OwnSizesParetoPareto


class OwnSizesParetoPareto(TypedDict, total=False):
    """Fields of OwnSizesParetoPareto."""

    shape: float
    """The tail's exponent, above 0."""
    min: Bytes
    """Smallest size."""
    max: Bytes
    """Largest size."""


class OwnSizesPoints(TypedDict, total=False):
    """A table: `[bytes, cumulative probability]` points."""

    points: Sequence[Sequence[float]]


class OwnSizesUniform(TypedDict, total=False):
    """Uniform from the first to the second."""

    uniform: Sequence[Bytes]


Parallel = TypedDict(
    "Parallel",
    {
        "clients": "Hosts",
        "servers": "int",
        "from": "Hosts",
        "same_rack": "bool",
    },
    total=False,
)
"""Several servers send to a client."""


class Part(TypedDict, total=False):
    """One of several size distributions."""

    weight: float
    """Its share of flows, relative to the others'."""
    sizes: Sizes
    """Its sizes."""


class PartitionAggregate(TypedDict, total=False):
    """An aggregator that hears from workers of its rack or, in two stages, from aggregators in
    other racks of its pod, each of which hears from workers of its own rack and sends on once all
    have answered.
    """

    stages: int
    """1: workers answer the aggregator. 2: they answer an aggregator of their rack, and these the
    one at the top. 1 unless given.
    """
    aggregators: Hosts
    """Hosts that a task's aggregator, the one at the top, is drawn from. If left out, the last host
    of every rack, in two stages the last host of every pod's last rack. (Fabrics without pods are
    one.).
    """
    mids: int
    """In two stages: racks of the pod that are asked, drawn for each task; all but the aggregator's
    own if left out. The last host of each aggregates.
    """
    workers: int
    """Workers of a rack, drawn for each task; all but the aggregator if left out."""
    selectivity: float
    """In two stages: bytes that go to the top for each that a rack's aggregator received. 0.03
    unless given.
    """


class PatternIncast(TypedDict, total=False):
    """Bursts of flows from several senders to one receiver."""

    incast: Incast


class Pipeline(TypedDict, total=False):
    """Hosts that compute one after the other."""

    hosts: Group
    """The hosts in their order: a number of neighbours, drawn for each task, or given ones."""
    microbatches: int
    """Parts of an iteration that are passed on one by one."""


Rule = TypedDict(
    "Rule",
    {
        "sizes": "Sizes",
        "round": "Round",
        "pattern": "Pattern",
        "from": "Hosts",
        "to": "Hosts",
        "pairs": "PairFilter",
        "destinations": "int",
        "arrivals": "Arrivals",
        "load": "float",
        "flow_share": "float",
        "byte_share": "float",
        "every": "Time",
        "deadline": "Deadlines",
        "reveals": "Reveals",
        "start": "Time",
        "stop": "Time",
        "class": "int",
        "slice": "int",
    },
    total=False,
)
"""Flows of one kind: how large, between whom, how often, from when to when."""


class Scenario(TypedDict, total=False):
    """Everything that determines a run."""

    fabric: Fabric

    transport: TransportParams

    workload: Workload

    scheme: SchemeChoice

    measure: Measure

    flow: FlowLevel

    live: LiveLevel

    seed: int
    """Seed of all random streams. TOML's integers have a sign; it counts as a bit like all others.
    1 unless given.
    """
    slice: Sequence[Slice]
    """The slices: tenants that share the network by weight. Rules name them by number, counted from
    1.
    """
    level: Level
    """What becomes of flows: "packet" and "flow" are simulated, "live" is real."""


class SchemeChoice(TypedDict, total=False):
    """A scheme and its parameters, which only the scheme itself understands."""

    name: str
    """The scheme's name."""
    label: str
    """What results call it; its name if left out."""
    oracle: bool
    """Tells the scheme the size and deadline of every flow, whatever its class reveals: how a
    paper's simulation treats a scheme that needs to know.
    """
    params: Mapping[str, Any]
    """The scheme's parameters."""


class SharedBuffer(TypedDict, total=False):
    """Memory that the ports of a switch share."""

    total: QueueLength
    """Memory of the whole switch."""
    alpha: float
    """A port may hold at most this many times what is free (dynamic thresholds); in steps of 0.01.
    """


class Shuffle(TypedDict, total=False):
    """Every mapper sends to every reducer. In more than one stage, those that received then send to
    those that sent.
    """

    mappers: int
    """Hosts that send in the first stage."""
    reducers: int
    """Hosts that receive in the first stage."""
    hosts: Hosts
    """Hosts that both are drawn from for each task, all different; all if left out."""
    stages: int
    """Shuffles, each after the one before has ended. 1 unless given."""
    selectivity: float
    """Bytes that a host sends on, to all together, for each that it received in the stage before.
    0.03 unless given.
    """


class Slice(TypedDict, total=False):
    """A tenant's part of the network."""

    weight: float
    """Its part, in proportion to the other slices' weights."""
    objective: Objective
    """What its flows are for. "completion" unless given."""


TaskRule = TypedDict(
    "TaskRule",
    {
        "workflow": "Workflow",
        "sizes": "Sizes",
        "flow_sizes": "Sizes",
        "split": "Bytes",
        "compute": "Compute",
        "arrivals": "Arrivals",
        "load": "float",
        "every": "Time",
        "count": "int",
        "start": "Time",
        "stop": "Time",
        "class": "int",
        "slice": "int",
        "background": "bool",
    },
    total=False,
)
"""Tasks of one kind: what they consist of, how large, how often, from when to when."""


class TransportParams(TypedDict, total=False):
    """Parameters of the reliable transport, the same for all flows of a run."""

    mss: int
    """Payload bytes of a full segment; 40 bytes of header come on top. 1460 unless given."""
    initial_window: int
    """Congestion window of a new flow, in segments. 10 unless given."""
    max_window: int
    """Upper bound of the window, in segments (the receiver's buffer). 10000 unless given."""
    min_window: int
    """Lower bound of what a mark or a fast retransmit leaves of the window, in segments; 0 for
    none. One segment may be in flight however small the window, and a timeout leaves one in any
    case. Laws with windows of their own (`cubic`, `karuna`'s for deadlines, `scc`) have bounds of
    their own. 1 unless given.
    """
    min_rto: Time
    """Smallest retransmission timeout. "2ms" unless given."""
    rto: RtoMode
    """How the retransmission timeout behaves. "standard" unless given."""
    loss_detection: LossDetection
    """How losses are found. "duplicate-acks" unless given."""
    ack_every: int
    """Acknowledge every n-th segment; 1 acknowledges each. With 2 or more, a change of the
    congestion mark forces an immediate acknowledgement (RFC 8257 §3.2). 1 unless given.
    """
    delayed_ack_timeout: Time
    """A delayed acknowledgement leaves at the latest after this time. "500us" unless given."""
    ack_bytes: int
    """Bytes of an acknowledgement on the wire, without what the scheme adds: its headers, and
    options where those count. 40 unless given.
    """
    ecn_capable_acks: bool
    """Pure acknowledgements are ECN-capable too. RFC 8257 says no; ns-3 does it. false unless
    given.
    """
    fct_end: FctEnd
    """When a flow counts as complete. "receiver" unless given."""


class Units(TypedDict, total=False):
    """What numbers without unit are."""

    rate: str
    """Of rates, such as "Gbps"."""
    delay: str
    """Of delays, such as "us"."""


WorkflowAllToAll = TypedDict(
    "WorkflowAllToAll",
    {
        "all-to-all": "Collective",
    },
    total=False,
)
"""Every host sends another part of what it has to every other."""


class WorkflowGraph(TypedDict, total=False):
    """Named stages between given hosts, in the order that they say."""

    graph: Sequence[GraphStage]


class WorkflowParallel(TypedDict, total=False):
    """Several servers send to a client at once, as when data are read from storage."""

    parallel: Parallel


WorkflowPartitionAggregate = TypedDict(
    "WorkflowPartitionAggregate",
    {
        "partition-aggregate": "PartitionAggregate",
    },
    total=False,
)
"""An aggregator asks workers, of its own rack or by way of other aggregators."""


class WorkflowPipeline(TypedDict, total=False):
    """Hosts pass on micro-batches, forward and back."""

    pipeline: Pipeline


WorkflowRingAllReduce = TypedDict(
    "WorkflowRingAllReduce",
    {
        "ring-all-reduce": "Collective",
    },
    total=False,
)
"""All hosts get the sum of what each has, over a ring."""


class WorkflowShuffle(TypedDict, total=False):
    """Every mapper sends to every reducer, once or several times."""

    shuffle: Shuffle


WorkflowTreeAllReduce = TypedDict(
    "WorkflowTreeAllReduce",
    {
        "tree-all-reduce": "Collective",
    },
    total=False,
)
"""All hosts get the sum of what each has, up and down a binary tree."""


Workload = TypedDict(
    "Workload",
    {
        "rule": "Sequence[Rule]",
        "task": "Sequence[TaskRule]",
        "sizes": "Sizes",
        "round": "Round",
        "pattern": "Pattern",
        "from": "Hosts",
        "to": "Hosts",
        "pairs": "PairFilter",
        "destinations": "int",
        "arrivals": "Arrivals",
        "load": "float",
        "flow_share": "float",
        "byte_share": "float",
        "every": "Time",
        "deadline": "Deadlines",
        "reveals": "Reveals",
        "start": "Time",
        "stop": "Time",
        "class": "int",
        "slice": "int",
        "flows": "int",
        "duration": "Time",
        "task_counters": "int",
        "task_counters_sync": "Time",
        "flow_list": "str",
        "flow_list_digest": "str",
        "flow_list_extra": "Sequence[str]",
        "coflow_trace": "str",
        "coflow_trace_digest": "str",
    },
    total=False,
)
"""Which flows start when: one rule or several, tasks, or a list of flows."""
