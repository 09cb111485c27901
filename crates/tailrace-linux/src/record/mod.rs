//! Records of what happened at a network: every packet that entered it and when, and every one that left or was
//! dropped. A fresh network that is given the same arrivals at the same times must do the same, to the byte.

mod format;
mod recorder;
mod replay;
#[cfg(test)]
mod tests;

pub use format::{Record, RecordError};
pub use recorder::Recorder;
pub use replay::{Difference, Replayed, replay};

/// A file in memory that its reader keeps.
#[cfg(test)]
#[derive(Clone, Default)]
pub(crate) struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

#[cfg(test)]
impl Shared {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[cfg(test)]
impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
