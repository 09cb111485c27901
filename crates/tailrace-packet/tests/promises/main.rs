//! What the packet-level simulator promises, one file a promise: theory, counts made by hand and
//! conservation laws against whole runs.

mod balancing;
mod baraat;
mod buffers;
mod caps;
mod conformance;
mod conservation;
mod control;
mod demotion;
mod endpoint;
mod failures;
mod flowcells;
mod graph;
mod karuna;
mod leaving;
mod lone_flow;
mod md1;
mod pauses;
mod pdq;
mod pfabric;
mod port_rules;
mod processes;
mod qjump;
mod rates;
mod setup;
mod sharing;
mod slices;
mod table_2;
mod tasks;
