//! What is modelled, and what of it can be used.

use tailrace_core::ParamError;
use tailrace_core::random::Stream;

/// Weights and windows above this are slips, and solvers lose themselves in them.
const MAX_PACKETS: f64 = 1e9;

/// How the windows of all flows grow and shrink.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// One packet more each round trip, α/2 of the window less on marks; so many flows.
    Dctcp {
        /// How many flows.
        flows: usize,
    },
    /// Uranus Eq. 8: as DCTCP, but `weight` packets more each round trip.
    Wvcc {
        /// The weight w of each flow, in packets a round trip.
        weights: Vec<f64>,
    },
    /// AC/DC, Uranus Eq. 6: as DCTCP, but α·(1 − β/2) less on marks.
    ///
    /// The paper's Eq. 17 halves that once more, which does not follow from its Eq. 6; the shares are the same.
    Acdc {
        /// The priority β of each flow, in 0..=1; 1 is DCTCP.
        priorities: Vec<f64>,
    },
}

impl Law {
    /// How many flows there are.
    pub fn flows(&self) -> usize {
        match self {
            Law::Dctcp { flows } => *flows,
            Law::Wvcc { weights } => weights.len(),
            Law::Acdc { priorities } => priorities.len(),
        }
    }

    /// What a flow's window grows by each round trip, in packets.
    pub fn growth(&self, flow: usize) -> f64 {
        match self {
            Law::Wvcc { weights } => weights[flow],
            Law::Dctcp { .. } | Law::Acdc { .. } => 1.0,
        }
    }

    /// The part of a flow's window that marks take each round trip, as a multiple of α.
    pub fn cut(&self, flow: usize) -> f64 {
        match self {
            Law::Dctcp { .. } | Law::Wvcc { .. } => 0.5,
            Law::Acdc { priorities } => 1.0 - priorities[flow] / 2.0,
        }
    }

    /// What the steady state's windows are in proportion to: growth equals cuts at growth/cut (Uranus Eq. 14).
    pub fn steady(&self, flow: usize) -> f64 {
        self.growth(flow) / self.cut(flow)
    }

    fn check(&self) -> Result<(), ParamError> {
        if self.flows() == 0 {
            let field = match self {
                Law::Dctcp { .. } => "flows",
                Law::Wvcc { .. } => "weights",
                Law::Acdc { .. } => "priorities",
            };
            return Err(ParamError::new(field, "no flow: at least one is needed"));
        }
        match self {
            Law::Dctcp { .. } => Ok(()),
            Law::Wvcc { weights } => {
                let good = |w| w > 0.0 && w <= MAX_PACKETS;
                each("weights", weights, good, "above 0, such as 0.25, and at most 1e9")
            }
            Law::Acdc { priorities } => {
                each("priorities", priorities, |b| (0.0..=1.0).contains(&b), "in 0..1, where 1 is DCTCP")
            }
        }
    }
}

/// The age of the marks that a flow answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lag {
    /// d + K/C: the round trip with a queue at the threshold (Uranus Eq. 8).
    #[default]
    Threshold,
    /// d: what the authors' public MATLAB code has.
    Base,
}

/// Flows over one bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// How windows change.
    pub law: Law,
    /// Capacity C of the bottleneck, in packets a second.
    pub capacity: f64,
    /// Round-trip time d without a queue, in seconds.
    pub base_rtt: f64,
    /// Marking threshold K, in packets.
    pub threshold: f64,
    /// Weight g of the newest round trip in α.
    pub gain: f64,
    /// The age of marks.
    pub lag: Lag,
    /// One α for all flows instead of one each. They differ only if flows start at different times.
    pub shared_alpha: bool,
    /// α at a flow's start.
    pub initial_alpha: f64,
    /// Each flow's window at its start, in packets.
    pub initial_windows: Vec<f64>,
    /// When each flow starts, in seconds.
    pub starts: Vec<f64>,
    /// When the model ends, in seconds.
    pub duration: f64,
    /// Time between two samples of the trajectory, in seconds.
    pub sample_every: f64,
    /// Width of the step from "not marked" to "marked", in packets: p = 1/(1 + exp((K − q)/width)). Solvers
    /// need a smooth one; results do not depend on it as long as it is small against K.
    pub mark_width: f64,
}

impl Model {
    /// Numbers that a trajectory may have, 8 bytes each.
    const MAX_NUMBERS: f64 = 5e7;
    /// Round trips that are solved in at most half an hour or so.
    const MAX_ROUND_TRIPS: f64 = 1e7;

    /// Flows that start together with windows of one packet, for 1000 round trips.
    pub fn new(law: Law, capacity: f64, base_rtt: f64, threshold: f64) -> Self {
        let flows = law.flows();
        Model {
            law,
            capacity,
            base_rtt,
            threshold,
            gain: 1.0 / 16.0,
            lag: Lag::default(),
            shared_alpha: false,
            initial_alpha: 1.0,
            initial_windows: vec![1.0; flows],
            starts: vec![0.0; flows],
            duration: 1000.0 * base_rtt,
            sample_every: base_rtt / 10.0,
            mark_width: threshold / 1000.0,
        }
    }

    /// The authors' public MATLAB setting. Its unit of time is 10 ms (its plots divide it by 100 to get seconds).
    pub fn uranus_matlab(initial_windows: Vec<f64>) -> Self {
        let law = Law::Wvcc { weights: vec![0.2, 0.4, 0.6, 0.8] };
        Model {
            lag: Lag::Base,
            shared_alpha: true,
            initial_windows,
            duration: 100.0,
            ..Model::new(law, 5000.0, 0.1, 10.0)
        }
    }

    /// The age of marks, in seconds.
    pub fn lag_seconds(&self) -> f64 {
        match self.lag {
            Lag::Threshold => self.base_rtt + self.threshold / self.capacity,
            Lag::Base => self.base_rtt,
        }
    }

    /// Whether a flow has started by `time`, in seconds; a sample at the very start counts, however it is rounded.
    pub fn started(&self, flow: usize, time: f64) -> bool {
        time + self.sample_every * 1e-6 >= self.starts[flow]
    }

    /// Checks the ranges.
    pub fn check(&self) -> Result<(), ParamError> {
        self.law.check()?;
        let above = "a finite number above 0";
        positive("capacity", self.capacity, above)?;
        positive("base_rtt", self.base_rtt, above)?;
        positive("threshold", self.threshold, above)?;
        positive("duration", self.duration, above)?;
        positive("sample_every", self.sample_every, above)?;
        positive("mark_width", self.mark_width, above)?;
        if self.duration < self.base_rtt {
            let message = format!("{} s must be at least one round trip, {} s", self.duration, self.base_rtt);
            return Err(ParamError::new("duration", message));
        }
        if self.mark_width > self.threshold / 10.0 {
            let message = format!("{} must be at most a tenth of the threshold", self.mark_width);
            return Err(ParamError::new("mark_width", message));
        }
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return Err(ParamError::new("gain", format!("{} must be above 0 and at most 1", self.gain)));
        }
        if !(0.0..=1.0).contains(&self.initial_alpha) {
            let message = format!("{} must lie in 0..1", self.initial_alpha);
            return Err(ParamError::new("initial_alpha", message));
        }
        self.check_flows()?;
        self.check_size()
    }

    fn check_flows(&self) -> Result<(), ParamError> {
        let flows = self.law.flows();
        for (field, values) in [("initial_windows", &self.initial_windows), ("starts", &self.starts)] {
            if values.len() != flows {
                let message = format!("{} values for {flows} flows: give one for each", values.len());
                return Err(ParamError::new(field, message));
            }
        }
        each(
            "initial_windows",
            &self.initial_windows,
            |w| (0.0..=MAX_PACKETS).contains(&w),
            "of packets from 0 to 1e9",
        )?;
        each("starts", &self.starts, |s| (0.0..self.duration).contains(&s), "at least 0 s and before the end")
    }

    /// Refuses what would take all memory, or days.
    fn check_size(&self) -> Result<(), ParamError> {
        let round_trips = self.duration / self.base_rtt;
        if round_trips > Self::MAX_ROUND_TRIPS {
            let message = format!("{round_trips:.0} round trips: at most {:.0}", Self::MAX_ROUND_TRIPS);
            return Err(ParamError::new("duration", message));
        }
        let numbers = self.duration / self.sample_every * (2 * self.law.flows() + 1) as f64;
        if numbers > Self::MAX_NUMBERS {
            let least = self.sample_every * numbers / Self::MAX_NUMBERS;
            let message = format!("would be {numbers:.1e} numbers: sample every {least:.1e} s or less often");
            return Err(ParamError::new("sample_every", message));
        }
        Ok(())
    }
}

/// Windows drawn uniformly from 0 to `most` packets.
pub fn uniform_windows(flows: usize, most: f64, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed, "fluid initial windows", 0);
    (0..flows).map(|_| most * stream.unit()).collect()
}

fn positive(field: &str, value: f64, right: &str) -> Result<(), ParamError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(ParamError::new(field, format!("{value} must be {right}")))
}

/// Checks each of `values`; an error names its place.
fn each(field: &str, values: &[f64], good: impl Fn(f64) -> bool, right: &str) -> Result<(), ParamError> {
    match values.iter().position(|&value| !(value.is_finite() && good(value))) {
        None => Ok(()),
        Some(at) => {
            let message = format!("{} must be a finite number {right}", values[at]);
            Err(ParamError::new(format!("{field}[{at}]"), message))
        }
    }
}
