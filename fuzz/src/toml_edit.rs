//! Changes to TOML documents that leave them documents: values become hostile, fields are left out, renamed, and taken
//! from other documents.

use tailrace_core::random::Stream;
use toml::{Table, Value};

/// Stands for text that cannot be a value while a document is edited, because it is too deep for that.
const DEEP: &str = "@deep@";
/// So deep that code which calls itself for each level leaves its stack.
const DEPTH: usize = 10_000;
/// So long that a message must not repeat it.
const LONG: usize = 1 << 20;

/// Values that are wrong nearly anywhere, as TOML.
const HOSTILE: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "255",
    "256",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "1000000000000",
    "9223372036854775807",
    "-9223372036854775808",
    "0.0",
    "-0.0",
    "1e-308",
    "0.999999999999",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "-inf",
    "true",
    "false",
    "''",
    "' '",
    "'0'",
    "'all'",
    "'nan'",
    "'-1ms'",
    "'0s'",
    "'1ps'",
    "'1ns'",
    "'1e3s'",
    "'99999999999h'",
    "'106d'",
    "'18446744073709551615ps'",
    "'18446744073709551616ps'",
    "'0B'",
    "'1B'",
    "'-1B'",
    "'18446744073709551615B'",
    "'16EB'",
    "'0bps'",
    "'1bps'",
    "'1e9Gbps'",
    "'18446744073709Mbps'",
    "'1pkt'",
    "'0pkt'",
    "'99999999999999pkt'",
    "\"\\u0000\"",
    "\"\\u001b[31m\\u0007\"",
    "'𝕏ü\u{202e}'",
    "'../../etc'",
    "'/dev/zero'",
    "'/'",
    "'/dev/stdin'",
    "'queries.cdf'",
    "1979-05-27T07:32:00Z",
    "[]",
    "[[]]",
    "{}",
    "[0]",
    "[0, 0]",
    "[1e308, nan]",
    "[{}, {}]",
    "['a', 1]",
    "{ fixed = '1B' }",
    "{ fixed = '0B' }",
    "{ uniform = ['1B', '16EB'] }",
    "{ exp = '1ps' }",
    "{ racks = [] }",
    "{ racks = [65535] }",
    "{ file = '/dev/zero' }",
    "{ values = [] }",
    "{ power = 1e308 }",
];

/// `text` with one to three changes, some of which take parts of `other`. What is no document stays as it is.
pub fn edit(text: &[u8], other: &[u8], stream: &mut Stream) -> Vec<u8> {
    let table = |text: &[u8]| std::str::from_utf8(text).ok().and_then(|text| text.parse::<Table>().ok());
    let Some(mut document) = table(text) else { return text.to_vec() };
    let other = table(other).unwrap_or_default();
    let most = 1 + stream.below(3);
    for _ in 0..1 + stream.below(most) {
        let fields = count(&Value::Table(document.clone()));
        let mut left = stream.below(fields.max(1));
        change(&mut document, &mut left, &other, stream);
    }
    let text = toml::to_string(&document).unwrap_or_default();
    match stream.below(2) {
        0 => text.replace(&format!("\"{DEEP}\""), &format!("{}1{}", "[".repeat(DEPTH), "]".repeat(DEPTH))),
        _ => text.replace(&format!("\"{DEEP}\""), &format!("{}1{}", "{a=".repeat(DEPTH), "}".repeat(DEPTH))),
    }
    .into_bytes()
}

/// Fields of a value and of all that it holds.
fn count(value: &Value) -> u32 {
    match value {
        Value::Table(table) => table.values().map(|value| 1 + count(value)).sum(),
        Value::Array(items) => items.iter().map(|value| 1 + count(value)).sum(),
        _ => 0,
    }
}

/// Changes the field of which `left` more are before it, counted in depth.
fn change(table: &mut Table, left: &mut u32, other: &Table, stream: &mut Stream) -> bool {
    let names: Vec<String> = table.keys().cloned().collect();
    for name in names {
        if *left == 0 {
            change_field(table, &name, other, stream);
            return true;
        }
        *left -= 1;
        if change_within(&mut table[&name], left, other, stream) {
            return true;
        }
    }
    false
}

fn change_within(value: &mut Value, left: &mut u32, other: &Table, stream: &mut Stream) -> bool {
    match value {
        Value::Table(inner) => change(inner, left, other, stream),
        Value::Array(items) => items.iter_mut().any(|item| {
            if *left == 0 {
                *item = hostile(item, stream);
                return true;
            }
            *left -= 1;
            change_within(item, left, other, stream)
        }),
        _ => false,
    }
}

fn change_field(table: &mut Table, name: &str, other: &Table, stream: &mut Stream) {
    match stream.below(12) {
        0 => drop(table.remove(name)),
        1 => {
            let value = table.remove(name);
            let renamed = rename(name, table, stream);
            table.extend(value.map(|value| (renamed, value)));
        }
        2 => {
            let value = table[name].clone();
            table.insert(rename(name, table, stream), value);
        }
        3 => {
            // A whole section, or a field of one, as another document has it.
            if let Some(value) = taken(other, stream) {
                table[name] = value;
            }
        }
        4 => table.extend(other.clone()),
        _ => table[name] = hostile(&table[name], stream),
    }
}

/// Another name: one with a slip, that of a neighbour, or one that nothing has.
fn rename(name: &str, table: &Table, stream: &mut Stream) -> String {
    let neighbours: Vec<&String> = table.keys().collect();
    match stream.below(20) {
        0..5 => name.to_uppercase(),
        5..10 => name.chars().rev().collect(),
        10..15 if !neighbours.is_empty() => {
            neighbours[stream.below(neighbours.len() as u32) as usize].clone()
        }
        15 => "x".repeat(LONG),
        _ => format!("{name}\u{1b}[31m"),
    }
}

fn taken(other: &Table, stream: &mut Stream) -> Option<Value> {
    let section = other.values().nth(stream.below(other.len().max(1) as u32) as usize)?;
    let inner = section.as_table().filter(|inner| !inner.is_empty() && stream.below(2) == 0);
    match inner {
        Some(inner) => inner.values().nth(stream.below(inner.len() as u32) as usize).cloned(),
        None => Some(section.clone()),
    }
}

/// A value in the place of another: an extreme one, or the old one changed a little.
fn hostile(old: &Value, stream: &mut Stream) -> Value {
    match (stream.below(40), old) {
        (0, _) => Value::String("x".repeat(LONG)),
        (1, _) => Value::String(DEEP.to_owned()),
        (2, _) => Value::Array(vec![old.clone(); 1 << stream.below(12)]),
        (3..10, Value::Integer(number)) => Value::Integer(number.wrapping_mul(1 << stream.below(50))),
        (3..10, Value::Float(number)) => Value::Float(number * power_of_ten(stream)),
        (3..10, Value::String(text)) => Value::String(slip(text, stream)),
        _ => {
            let text = HOSTILE[stream.below(HOSTILE.len() as u32) as usize];
            let document = format!("v = {text}").parse::<Table>().ok();
            document.and_then(|mut document| document.remove("v")).expect("hostile values are TOML")
        }
    }
}

fn power_of_ten(stream: &mut Stream) -> f64 {
    10f64.powi(stream.below(600) as i32 - 300)
}

/// A text with a digit more, a sign, another unit, or in capitals.
fn slip(text: &str, stream: &mut Stream) -> String {
    match stream.below(6) {
        0 => text.to_uppercase(),
        1 => format!("-{text}"),
        2 => format!("999999{text}"),
        3 => format!("0.{text}"),
        4 => format!("{text}s"),
        _ => text.chars().filter(char::is_ascii_digit).collect(),
    }
}
