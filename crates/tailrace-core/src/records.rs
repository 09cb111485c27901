//! Records of all flows of a run. What a run leaves grows with its flows whatever else it needs, so records that nothing
//! is added to any more are kept in columns, each as wide as its numbers need.

use std::ops::Range;

use crate::{Bytes, FlowId, FlowRecord, Reveals, Time};

/// Records of all flows that have started, by number.
#[derive(Clone, Debug, Default)]
pub struct FlowRecords {
    /// All but the last are full.
    chunks: Vec<Chunk>,
}

/// Records of consecutive flows.
#[derive(Clone, Debug)]
enum Chunk {
    /// Some of them may still change; with how often it was said of one that it will not.
    Open(Vec<FlowRecord>, usize),
    /// None of them will.
    Closed(Box<Columns>),
}

impl FlowRecords {
    const CHUNK: usize = 1 << 12;

    /// How many there are.
    pub fn len(&self) -> usize {
        let last = match self.chunks.last() {
            None => 0,
            Some(Chunk::Open(records, _)) => records.len(),
            Some(Chunk::Closed(_)) => Self::CHUNK,
        };
        self.chunks.len().saturating_sub(1) * Self::CHUNK + last
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Adds the record of the next flow, whose number is how many there are.
    pub fn push(&mut self, record: FlowRecord) {
        debug_assert_eq!(record.id as usize, self.len());
        match self.chunks.last_mut() {
            Some(Chunk::Open(records, _)) if records.len() < Self::CHUNK => records.push(record),
            _ => {
                let mut records = Vec::with_capacity(Self::CHUNK);
                records.push(record);
                self.chunks.push(Chunk::Open(records, 0));
            }
        }
    }

    /// A flow's record.
    #[inline]
    pub fn of(&self, flow: FlowId) -> FlowRecord {
        let place = flow as usize % Self::CHUNK;
        match &self.chunks[flow as usize / Self::CHUNK] {
            Chunk::Open(records, _) => records[place],
            Chunk::Closed(columns) => columns.record(flow, place),
        }
    }

    /// A flow's record, to be changed.
    #[inline]
    pub fn of_mut(&mut self, flow: FlowId) -> &mut FlowRecord {
        let (chunk, place) = (flow as usize / Self::CHUNK, flow as usize % Self::CHUNK);
        if let Chunk::Closed(columns) = &self.chunks[chunk] {
            let first = (chunk * Self::CHUNK) as FlowId;
            let records = (0..Self::CHUNK).map(|place| columns.record(first + place as FlowId, place));
            self.chunks[chunk] = Chunk::Open(records.collect(), 0);
        }
        match &mut self.chunks[chunk] {
            Chunk::Open(records, _) => &mut records[place],
            Chunk::Closed(_) => unreachable!("it has just been opened"),
        }
    }

    /// A flow's record will not change any more, which is to be said once of each. Where all of a chunk are closed they take a
    /// third of the room; one that is changed all the same has its chunk as it was from then on.
    #[inline]
    pub fn close(&mut self, flow: FlowId) {
        let chunk = &mut self.chunks[flow as usize / Self::CHUNK];
        if let Chunk::Open(records, done) = chunk {
            *done += 1;
            if *done >= Self::CHUNK && records.len() == Self::CHUNK {
                *chunk = Chunk::Closed(Box::new(Columns::of(records)));
            }
        }
    }

    /// All in order of number.
    pub fn iter(&self) -> impl Iterator<Item = FlowRecord> + Clone {
        (0..self.len() as FlowId).map(|flow| self.of(flow))
    }

    /// Those of these numbers, in order: where they lie in columns, these are gone through one after the other.
    pub fn read(&self, flows: Range<usize>) -> Vec<FlowRecord> {
        let mut read = Vec::with_capacity(flows.len());
        let mut next = flows.start;
        while next < flows.end {
            let (first, place) = (next - next % Self::CHUNK, next % Self::CHUNK);
            let places = place..(flows.end - first).min(Self::CHUNK);
            next = first + places.end;
            match &self.chunks[first / Self::CHUNK] {
                Chunk::Open(records, _) => read.extend_from_slice(&records[places]),
                Chunk::Closed(columns) => columns.read(first, places, &mut read),
            }
        }
        read
    }
}

/// Records that will not change.
impl FromIterator<FlowRecord> for FlowRecords {
    fn from_iter<I: IntoIterator<Item = FlowRecord>>(records: I) -> Self {
        let mut all = FlowRecords::default();
        for record in records {
            all.push(record);
            all.close(record.id);
        }
        all
    }
}

/// Fields of records that lie in columns. The number follows from the place.
const FIELDS: usize = 11;

/// So many records are read from columns at once.
const READ_AT_ONCE: usize = 64;

/// Records in columns.
#[derive(Clone, Debug)]
struct Columns([Column; FIELDS]);

impl Columns {
    fn of(records: &[FlowRecord]) -> Self {
        let fields: Vec<[u64; FIELDS]> = records.iter().map(fields).collect();
        Columns(std::array::from_fn(|field| Column::of(fields.iter().map(|fields| fields[field]))))
    }

    fn record(&self, flow: FlowId, place: usize) -> FlowRecord {
        record(flow, self.0.each_ref().map(|column| column.get(place)))
    }

    /// Appends the records at these places; that at place 0 has number `first`.
    fn read(&self, first: usize, places: Range<usize>, into: &mut Vec<FlowRecord>) {
        let mut fields = [[0; FIELDS]; READ_AT_ONCE];
        for start in places.clone().step_by(READ_AT_ONCE) {
            let count = READ_AT_ONCE.min(places.end - start);
            for (field, column) in self.0.iter().enumerate() {
                let numbers = (start..start + count).map(|place| column.get(place));
                fields.iter_mut().zip(numbers).for_each(|(fields, number)| fields[field] = number);
            }
            let records = fields[..count].iter().zip(first + start..);
            into.extend(records.map(|(&fields, flow)| record(flow as FlowId, fields)));
        }
    }
}

/// The fields of a record as numbers. The end is told from the start: both grow as a run goes on.
fn fields(record: &FlowRecord) -> [u64; FIELDS] {
    let &FlowRecord { size, start, end, deadline, id: _, task, retransmitted, src, dst, .. } = record;
    let &FlowRecord { timeouts, slice, stopped, class, reveals, .. } = record;
    let flags = u64::from(class) << 8 | u64::from(reveals.flow_type()) << 1 | u64::from(stopped);
    [
        size.get(),
        start.as_ps(),
        end.as_ps().wrapping_sub(start.as_ps()),
        deadline.as_ps(),
        task.into(),
        retransmitted.into(),
        src.into(),
        dst.into(),
        timeouts.into(),
        slice.into(),
        flags,
    ]
}

/// The record that has these fields.
fn record(id: FlowId, fields: [u64; FIELDS]) -> FlowRecord {
    let [size, start, took, deadline, task, retransmitted, src, dst, timeouts, slice, flags] = fields;
    FlowRecord {
        size: Bytes::new(size),
        start: Time::from_ps(start),
        end: Time::from_ps(start.wrapping_add(took)),
        deadline: Time::from_ps(deadline),
        id,
        task: task as u32,
        retransmitted: retransmitted as u32,
        src: src as u32,
        dst: dst as u32,
        timeouts: timeouts as u16,
        slice: slice as u16,
        stopped: flags & 1 != 0,
        class: (flags >> 8) as u8,
        reveals: match flags >> 1 & 3 {
            1 => Reveals::Deadline,
            2 => Reveals::Size,
            _ => Reveals::Nothing,
        },
    }
}

/// Numbers that lie near each other.
#[derive(Clone, Debug)]
struct Column {
    least: u64,
    /// Bytes of a number, and which of eight bytes read they are.
    width: usize,
    mask: u64,
    /// What each is above the least, the lowest byte first, and so many zeros that eight bytes of the last can be read.
    bytes: Box<[u8]>,
}

/// Bytes read at once.
const READ: usize = size_of::<u64>();

impl Column {
    fn of(numbers: impl ExactSizeIterator<Item = u64> + Clone) -> Self {
        let bounds = numbers.clone().fold((u64::MAX, 0), |(least, most), n| (n.min(least), n.max(most)));
        let (least, span) = (bounds.0, bounds.1.saturating_sub(bounds.0));
        let width = (u64::BITS - span.leading_zeros()).div_ceil(8) as usize;
        let mut bytes = vec![0; numbers.len() * width + READ].into_boxed_slice();
        for (place, number) in numbers.enumerate() {
            bytes[place * width..][..READ].copy_from_slice(&(number - least).to_le_bytes());
        }
        let mask = u64::MAX.checked_shr(u64::BITS - 8 * width as u32).unwrap_or(0);
        Column { least, width, mask, bytes }
    }

    #[inline]
    fn get(&self, place: usize) -> u64 {
        let mut number = [0; READ];
        number.copy_from_slice(&self.bytes[place * self.width..][..READ]);
        self.least + (u64::from_le_bytes(number) & self.mask)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers of any length, and often the same.
    fn a_number() -> impl Strategy<Value = u64> {
        prop_oneof![
            Just(0),
            Just(u64::MAX),
            any::<u64>(),
            (any::<u64>(), 0..64).prop_map(|(n, bits)| n >> bits)
        ]
    }

    fn a_record() -> impl Strategy<Value = FlowRecord> {
        let reveals = prop_oneof![Just(Reveals::Deadline), Just(Reveals::Size), Just(Reveals::Nothing)];
        let small = (any::<u16>(), any::<u16>(), any::<bool>(), any::<u8>(), reveals);
        (prop::array::uniform8(a_number()), small).prop_map(
            |(long, (timeouts, slice, stopped, class, reveals))| {
                let [size, start, end, deadline, task, retransmitted, src, dst] = long;
                FlowRecord {
                    size: Bytes::new(size),
                    start: Time::from_ps(start),
                    end: Time::from_ps(end),
                    deadline: Time::from_ps(deadline),
                    id: 0,
                    task: task as u32,
                    retransmitted: retransmitted as u32,
                    src: src as u32,
                    dst: dst as u32,
                    timeouts,
                    slice,
                    stopped,
                    class,
                    reveals,
                }
            },
        )
    }

    fn numbered(id: u32, kinds: &[FlowRecord]) -> FlowRecord {
        FlowRecord { id, ..kinds[id as usize % kinds.len()] }
    }

    proptest! {
        #[test]
        fn columns_hold_any_numbers(numbers in prop::collection::vec(a_number(), 1..40)) {
            let column = Column::of(numbers.iter().copied());
            let all: Vec<u64> = (0..numbers.len()).map(|place| column.get(place)).collect();
            prop_assert_eq!(all, numbers);
        }

        #[test]
        fn records_are_what_was_written_whichever_are_closed_and_changed_again(
            kinds in prop::collection::vec(a_record(), 1..8),
            beyond in 0..3_u32,
            calls in prop::collection::vec((0..3, any::<prop::sample::Index>()), 0..30),
        ) {
            let count = FlowRecords::CHUNK as u32 * 2 + beyond;
            let mut records = FlowRecords::default();
            prop_assert!(records.is_empty());
            let mut model: Vec<FlowRecord> = (0..count).map(|id| numbered(id, &kinds)).collect();
            for record in &model {
                prop_assert_eq!(records.len(), record.id as usize);
                records.push(*record);
            }
            for (call, place) in calls {
                let flow = place.index(model.len()) as FlowId;
                match call {
                    0 => (0..flow).for_each(|flow| records.close(flow)),
                    1 => (flow..count).for_each(|flow| records.close(flow)),
                    _ => {
                        model[flow as usize].timeouts ^= 7;
                        records.of_mut(flow).timeouts ^= 7;
                    }
                }
                prop_assert_eq!(records.of(flow), model[flow as usize]);
            }
            prop_assert_eq!(records.len(), model.len());
            prop_assert!(records.iter().eq(model.iter().copied()));
            for part in [0..model.len(), 7..7, 7..5_000, 4_095..4_097] {
                prop_assert_eq!(&records.read(part.clone())[..], &model[part]);
            }
            prop_assert!(model.iter().copied().collect::<FlowRecords>().iter().eq(model.iter().copied()));
        }
    }

    /// Flows of a task of 40 on 36,000 hosts, as they are on a fabric of tens of thousands of servers.
    #[test]
    fn a_flow_that_has_ended_takes_a_third_of_a_line() {
        let record = |id: u32| FlowRecord {
            size: Bytes::new(2_000 + u64::from(id) * 7 % 48_000),
            start: Time::from_ns(u64::from(id / 40) * 1_000),
            end: Time::from_ns(u64::from(id / 40) * 1_000 + 20_000 + u64::from(id) * 977 % 3_000_000),
            deadline: Time::MAX,
            id,
            task: 1 + id / 40,
            retransmitted: 0,
            src: id * 31 % 36_000,
            dst: id * 17 % 36_000,
            timeouts: 0,
            slice: 0,
            stopped: false,
            class: 0,
            reveals: Reveals::Size,
        };
        let chunk: Vec<FlowRecord> = (0..FlowRecords::CHUNK as u32).map(record).collect();
        let Columns(columns) = Columns::of(&chunk);
        let bytes: usize = columns.iter().map(|column| column.bytes.len() + size_of::<Column>()).sum();
        assert!(bytes <= 20 * chunk.len(), "{} bytes a flow", bytes / chunk.len());
    }
}
