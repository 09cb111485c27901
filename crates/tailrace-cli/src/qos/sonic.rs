//! Tables of SONiC's config_db.json, within the constraints of its YANG models (sonic-buildimage,
//! src/sonic-yang-models/yang-models/sonic-{dscp-tc-map,tc-queue-map,scheduler,wred-profile,queue,port-qos-map}).
//!
//! Among strict queues the one with the highest number goes first (sonic-mgmt, default strict priority: TC7 >
//! TC6 > … > TC0), so queue i of a plan is queue 7 − i of the switch; DSCP 7 − i is traffic class 7 − i.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tailrace_core::{MAX_PRIORITIES, MarkedLength, Rate};
use tailrace_experiment::Error;

use super::job::{Job, Written};

const MAPS: &str = "TAILRACE";
const STRICT: &str = "TAILRACE_STRICT";

/// The YANG model has 64 bits for a threshold, the interface to the chip 32 (SAI_WRED_ATTR_GREEN_MIN_THRESHOLD).
const MAX: (u64, &str) = (u32::MAX as u64, "what SAI's 32 bits hold");

/// The switch's number of the plan's queue.
fn number(queue: usize) -> usize {
    MAX_PRIORITIES - 1 - queue
}

pub fn write(job: &Job, ports: &BTreeMap<Rate, Vec<String>>) -> Result<Written, Error> {
    job.only_strict("sonic")?;
    job.check_thresholds("sonic", MAX)?;
    let queues = job.any().queues.len();
    let classes: Map<String, Value> =
        (0..64u8).map(|dscp| (dscp.to_string(), json!(number(job.queue_of(dscp)).to_string()))).collect();
    let numbers: Map<String, Value> =
        (0..queues).rev().map(|q| (number(q).to_string(), json!(number(q).to_string()))).collect();
    let mut document = json!({
        "DSCP_TO_TC_MAP": { MAPS: classes },
        "TC_TO_QUEUE_MAP": { MAPS: numbers },
        "SCHEDULER": { STRICT: { "type": "STRICT" } },
    });
    let profiles: Map<String, Value> = job
        .plans
        .iter()
        .filter_map(|(rate, plan)| Some((profile(*rate), wred(plan.marking?.above_bytes))))
        .collect();
    let marks = !profiles.is_empty();
    if marks {
        document["WRED_PROFILE"] = Value::Object(profiles);
    }
    if !ports.is_empty() {
        let range =
            if queues == 1 { number(0).to_string() } else { format!("{}-{}", number(queues - 1), number(0)) };
        let mut bound = (Map::new(), Map::new());
        for (rate, name) in ports.iter().flat_map(|(rate, names)| names.iter().map(move |name| (rate, name)))
        {
            let mut queue = json!({ "scheduler": STRICT });
            if marks {
                queue["wred_profile"] = json!(profile(*rate));
            }
            bound.0.insert(format!("{name}|{range}"), queue);
            bound.1.insert(name.clone(), json!({ "dscp_to_tc_map": MAPS, "tc_to_queue_map": MAPS }));
        }
        document["QUEUE"] = Value::Object(bound.0);
        document["PORT_QOS_MAP"] = Value::Object(bound.1);
    }
    Ok(Written { text: format!("{document:#}\n"), notes: notes(job, ports.is_empty()) })
}

/// A name by rate; the models allow letters, digits, hyphens and underscores.
fn profile(rate: Rate) -> String {
    format!("{MAPS}_{}", rate.to_string().replace('.', "_"))
}

/// A step at K: min = max. SONiC sets the weight of the average to 0 (qosorch), so the length is the present one.
fn wred(above: u64) -> Value {
    let mut profile = json!({ "ecn": "ecn_all" });
    for color in ["green", "yellow", "red"] {
        profile[format!("wred_{color}_enable")] = json!("true");
        profile[format!("{color}_min_threshold")] = json!(above.to_string());
        profile[format!("{color}_max_threshold")] = json!(above.to_string());
        profile[format!("{color}_drop_probability")] = json!("100");
    }
    profile
}

fn notes(job: &Job, unbound: bool) -> Vec<String> {
    let mut notes = vec![
        "packets of other DSCPs go into the last queue, network control (48, 56) into the first".to_owned(),
    ];
    if unbound {
        notes.push(
            "no ports were named, so nothing is bound: QUEUE and PORT_QOS_MAP are left out; \
             give --ports 10Gbps=Ethernet0,Ethernet4"
                .to_owned(),
        );
    }
    let Some(marking) = job.any().marking else { return notes };
    let several = job.any().queues.len() > 1;
    if several && marking.length != MarkedLength::Queue {
        let whose = if marking.length == MarkedLength::Port { "" } else { " other than the first" };
        notes.push(format!(
            "SONiC compares each queue's own length with K, {} the port's total for queues{whose}: a port may hold K in \
             every queue before it marks. Lower K if many queues are busy at a time",
            job.scheme
        ));
    }
    notes.push(
        "above K, WRED drops packets that are not ECN-capable; let hosts send acknowledgements ECN-capable, or set \
         wred_*_enable to false if your switch marks without it"
            .to_owned(),
    );
    notes
}
