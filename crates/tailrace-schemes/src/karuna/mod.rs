//! Karuna: flows with deadlines, with known sizes and with neither, over one set of priority queues.

pub mod model;
