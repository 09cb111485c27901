//! A cache of one fabric: the last that was built.

use std::sync::{Arc, Mutex, PoisonError};

use super::Fabric;

/// Keeps one fabric with the parameters that it was built from. A run asks for its fabric a dozen times, all runs of a sweep
/// often for the same one, and a fabric of 65,536 hosts takes a while to lay out. A cached fabric equals a new one.
pub(super) struct FabricCache<P>(Mutex<Option<(P, Arc<Fabric>)>>);

impl<P: Clone + PartialEq> FabricCache<P> {
    /// None yet.
    pub(super) const fn new() -> Self {
        FabricCache(Mutex::new(None))
    }

    /// The fabric of these parameters.
    pub(super) fn get_or_build(&self, params: &P, build: impl FnOnce() -> Fabric) -> Arc<Fabric> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, fabric)) = &*kept()
            && of == params
        {
            return Arc::clone(fabric);
        }
        // Others may build theirs meanwhile.
        let fabric = Arc::new(build());
        *kept() = Some((params.clone(), Arc::clone(&fabric)));
        fabric
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FabricParams;

    fn preset(fields: &str) -> FabricParams {
        FabricParams::from_table(&format!("preset = \"micro4\"\n{fields}").parse().unwrap()).unwrap()
    }

    #[test]
    fn only_what_was_built_of_the_same_parameters_is_given_again() {
        let cache = FabricCache::new();
        let build = |params: &FabricParams| {
            let mut built = false;
            let fabric = cache.get_or_build(params, || {
                built = true;
                Fabric::clone(&params.build())
            });
            (fabric.hosts, fabric.ecmp_seed, built)
        };
        let (four, five) = (preset(""), preset("hosts = 5"));
        assert_eq!(build(&four), (4, 0, true));
        assert_eq!(build(&four), (4, 0, false));
        assert_eq!(build(&five), (5, 0, true));
        assert_eq!(build(&four), (4, 0, true));
        // Also where no field of a table changed, but one of the parameters.
        assert_eq!(build(&FabricParams { ecmp_seed: 7, ..four.clone() }), (4, 7, true));
    }
}
