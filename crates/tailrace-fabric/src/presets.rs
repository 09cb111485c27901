//! Fabrics of published experiments.

use tailrace_config::{ScenarioError, suggest};
use toml::Table;

pub(super) struct Preset {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    pub(super) source: &'static str,
    fields: &'static str,
}

/// Delays of spine144: 20 µs in the host and 0.2 µs of wire on host links, 0.2 µs on core links.
pub(super) const PRESETS: [Preset; 7] = [
    Preset {
        name: "spine144",
        summary: "144 hosts under 9 leaves, 4 spines, no oversubscription, packets sprayed",
        source: "AWAFS (large scale); PIAS ns-2 scripts; Karuna",
        fields: r#"
            kind = "leaf-spine"
            leaves = 9
            spines = 4
            hosts_per_leaf = 16
            host_rate = "10Gbps"
            spine_rate = "40Gbps"
            host_delay = "20.2us"
            spine_delay = "200ns"
            buffer = "360KB"
            load_balancing = "spray"
        "#,
    },
    Preset {
        name: "spine144x3",
        summary: "144 hosts under 12 leaves, 4 spines, 3:1 oversubscribed, packets sprayed",
        source: "PIAS ns-2 scripts",
        fields: r#"
            kind = "leaf-spine"
            leaves = 12
            spines = 4
            hosts_per_leaf = 12
            host_rate = "10Gbps"
            spine_rate = "10Gbps"
            host_delay = "20.2us"
            spine_delay = "200ns"
            buffer = "360KB"
            load_balancing = "spray"
        "#,
    },
    Preset {
        name: "micro4",
        summary: "4 hosts on one switch",
        source: "AWAFS (micro benchmark)",
        fields: r#"
            kind = "star"
            hosts = 4
            host_rate = "10Gbps"
            host_delay = "20.2us"
            buffer = "360KB"
        "#,
    },
    Preset {
        name: "fattree64",
        summary: "64 hosts, 4 pods, 8 hosts an edge switch, 4:1 oversubscribed at the edge",
        source: "Uranus",
        fields: r#"
            kind = "tree"
            pods = 4
            edges_per_pod = 2
            hosts_per_edge = 8
            aggs_per_pod = 2
            cores = 4
            host_rate = "1Gbps"
            edge_rate = "1Gbps"
            core_rate = "10Gbps"
            delay = "12.5us"
            buffer = "360KB"
        "#,
    },
    Preset {
        name: "rack16",
        summary: "16 hosts on one switch with 4 MB of shared memory; round trip 100 µs",
        source: "testbeds of PIAS and Karuna",
        fields: r#"
            kind = "star"
            hosts = 16
            host_rate = "1Gbps"
            host_delay = "18.84us"
            shared_buffer = { total = "4MB", alpha = 1.0 }
        "#,
    },
    Preset {
        name: "tree5x4",
        summary: "5 racks of 4 hosts and a root switch; round trip 1 ms",
        source: "testbed of Baraat",
        fields: r#"
            kind = "leaf-spine"
            leaves = 5
            spines = 1
            hosts_per_leaf = 4
            host_rate = "1Gbps"
            spine_rate = "1Gbps"
            delay = "118.84us"
            buffer = "360KB"
        "#,
    },
    Preset {
        name: "tree36k",
        // A rack has a host beside its 40 workers, which aggregates, and a pod has a rack beside its 30, whose last
        // host aggregates for the pod.
        summary: "36 000 workers in 30 pods of 30 racks, with aggregators; no path diversity, 2:1 oversubscribed at the rack",
        source: "Baraat (large scale, flow-level)",
        fields: r#"
            kind = "tree"
            pods = 30
            edges_per_pod = 31
            hosts_per_edge = 41
            aggs_per_pod = 1
            cores = 1
            host_rate = "1Gbps"
            edge_rate = "20Gbps"
            core_rate = "620Gbps"
            delay = "1us"
            buffer = "360KB"
        "#,
    },
];

/// The names of the presets.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// The fields of the preset of that name.
pub(super) fn table(name: &str) -> Result<Table, ScenarioError> {
    match PRESETS.iter().find(|preset| preset.name == name) {
        Some(preset) => Ok(preset.table()),
        None => Err(ScenarioError::new("preset", suggest::unknown("preset", name, names()))),
    }
}

impl Preset {
    pub(super) fn table(&self) -> Table {
        self.fields.parse().expect("presets are valid TOML")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FabricParams;
    use tailrace_core::Time;

    fn preset(name: &str) -> FabricParams {
        FabricParams::from_table(&format!("preset = \"{name}\"").parse().unwrap()).unwrap()
    }

    #[test]
    fn every_preset_is_valid_and_complete() {
        for name in names() {
            let params = preset(name);
            assert_eq!(params.build().hosts, params.hosts() as usize, "{name}");
            assert_eq!(FabricParams::from_table(&params.to_table()), Ok(params), "{name}");
        }
        assert_eq!(preset("spine144").hosts(), 144);
        assert_eq!(preset("spine144x3").hosts(), 144);
        assert_eq!(preset("fattree64").hosts(), 64);
        assert_eq!(preset("tree36k").hosts(), 30 * 31 * 41);
    }

    #[test]
    fn round_trips_are_as_published() {
        let rtt = |name| preset(name).build().base_rtt();
        // By hand: 43.8 µs one way, 40.88 µs for the ACK; published as 85.2 µs.
        assert_eq!(rtt("spine144"), Time::from_ps(84_680_000));
        assert_eq!(rtt("rack16"), Time::from_us(100));
        assert_eq!(rtt("tree5x4"), Time::from_ms(1));
    }
}
