//! What is run: fabrics, workloads and the scenario that joins them. Data only; nothing runs here.

pub mod fabric;
