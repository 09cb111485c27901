//! What is written and read: tables and their columns, Parquet, lists of flows, captures.

pub mod columns;
pub mod files;
pub mod flow_list;
pub mod in_order;
pub mod pcap;
pub mod pieces;
pub mod tables;
