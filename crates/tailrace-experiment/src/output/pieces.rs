//! Tables that are made as they are needed, piece by piece: a table of millions of flows takes several times what the
//! records of these do.

use std::fmt;
use std::ops::Range;

use arrow_array::RecordBatch;

/// Most rows of a piece.
const ROWS: usize = 1 << 16;

/// A table, in pieces with the same columns; at least one, which may have no rows.
pub struct Pieces {
    rows: usize,
    piece: Box<dyn Fn(Range<usize>) -> RecordBatch + Send + Sync>,
}

impl Pieces {
    /// A table of so many rows, of which `piece` makes those of a range.
    pub fn new(rows: usize, piece: impl Fn(Range<usize>) -> RecordBatch + Send + Sync + 'static) -> Self {
        Pieces { rows, piece: Box::new(piece) }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many pieces there are.
    pub fn count(&self) -> usize {
        self.rows.div_ceil(ROWS).max(1)
    }

    /// Its columns, without rows.
    pub fn columns(&self) -> RecordBatch {
        (self.piece)(0..0)
    }

    /// A piece, by its number.
    pub fn piece(&self, number: usize) -> RecordBatch {
        let start = number * ROWS;
        (self.piece)(start..self.rows.min(start + ROWS))
    }

    /// All pieces in order.
    pub fn iter(&self) -> impl Iterator<Item = RecordBatch> {
        (0..self.count()).map(|number| self.piece(number))
    }
}

impl From<RecordBatch> for Pieces {
    fn from(whole: RecordBatch) -> Self {
        Pieces::new(whole.num_rows(), move |rows| whole.slice(rows.start, rows.len()))
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.rows)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;
    use arrow_array::{ArrayRef, UInt64Array};

    use super::*;

    #[test]
    fn pieces_are_the_whole_and_there_is_always_one() {
        for rows in [0, 1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS] {
            let numbers = |range: Range<usize>| UInt64Array::from_iter_values(range.map(|row| row as u64));
            let table = move |range| {
                RecordBatch::try_from_iter([("row", Arc::new(numbers(range)) as ArrayRef)]).unwrap()
            };
            for pieces in [Pieces::new(rows, table), Pieces::from(table(0..rows))] {
                assert_eq!((pieces.rows(), pieces.count()), (rows, pieces.iter().count()));
                assert_eq!((pieces.columns().num_rows(), pieces.columns().num_columns()), (0, 1));
                assert!(pieces.count() >= 1 && pieces.iter().all(|piece| piece.num_rows() <= ROWS));
                let all = pieces
                    .iter()
                    .flat_map(|piece| piece.column(0).as_primitive::<UInt64Type>().values().to_vec());
                assert!(all.eq(0..rows as u64));
            }
        }
    }
}
