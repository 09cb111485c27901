//! The agenda against a map from entity to time.

use std::collections::BTreeMap;

use arbitrary::{Arbitrary, Unstructured};
use tailrace_engine::{Agenda, Entity};

use super::{Outcome, magnitude};

#[derive(Arbitrary, Debug)]
enum Operation {
    /// Wakes an entity so far ahead: a number of `shift` more bits.
    Wake {
        entity: u8,
        ahead: u16,
        shift: u8,
    },
    Next,
}

#[derive(Arbitrary, Debug)]
struct Input {
    entities: u8,
    /// Width of what the agenda takes for the near future, as a power of two.
    span: u8,
    operations: Vec<Operation>,
}

/// The next wake-up by both; entities woken at the same time may come in any order.
fn next(agenda: &mut Agenda, pending: &mut BTreeMap<Entity, u64>) -> Option<u64> {
    let least = pending.values().min().copied();
    let got = agenda.next();
    assert_eq!(got.map(|(at, _)| at), least);
    let (at, entity) = got?;
    assert_eq!(pending.remove(&entity), Some(at), "entity {entity} was not due at {at}");
    Some(at)
}

pub(super) fn check(bytes: &[u8]) -> Outcome {
    let Ok(input) = Input::arbitrary_take_rest(Unstructured::new(bytes)) else {
        return Outcome::Refused("too short".to_owned());
    };
    let entities = Entity::from(input.entities.max(1));
    let mut agenda = Agenda::new(entities as usize, 1 << (input.span % 40));
    let mut pending: BTreeMap<Entity, u64> = BTreeMap::new();
    let mut now = 0u64;
    for operation in input.operations {
        match operation {
            Operation::Wake { entity, ahead, shift } => {
                let entity = Entity::from(entity) % entities;
                let at = now.saturating_add(u64::from(ahead) << (shift % 48));
                agenda.wake(entity, at);
                let earliest = pending.entry(entity).or_insert(at);
                *earliest = at.min(*earliest);
            }
            Operation::Next => now = next(&mut agenda, &mut pending).unwrap_or(now),
        }
        assert_eq!(agenda.peek(), pending.values().min().copied());
    }
    while next(&mut agenda, &mut pending).is_some() {}
    assert!(agenda.peek().is_none() && pending.is_empty());
    Outcome::Used(format!("2^{} entities, until 2^{}", magnitude(entities.into()), magnitude(now)))
}
