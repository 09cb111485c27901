//! A queue in a ring whose length is a power of two, so that going round is one operation. Beside the standard library's it
//! takes less of a port's first line of memory.

/// A queue of small values.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    /// As long as there is room, a power of two, or empty.
    places: Box<[T]>,
    first: u32,
    len: u32,
}

impl<T: Copy + Default> Ring<T> {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Ring { places: Box::default(), first: 0, len: 0 }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// The first.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.places.get(self.first as usize) }
    }

    /// Where the first is, or whatever was there last.
    #[inline]
    pub(crate) fn first_place(&self) -> Option<&T> {
        self.places.get(self.first as usize)
    }

    /// Takes the first out.
    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.len -= 1;
        // An empty one begins anew, so that a link that holds little touches little.
        self.first = if self.len == 0 { 0 } else { self.place(1) as u32 };
        Some(first)
    }

    /// Puts one at the end.
    #[inline]
    pub(crate) fn push_back(&mut self, value: T) {
        if self.len as usize == self.places.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.places[place] = value;
        self.len += 1;
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|number| &self.places[self.place(number)])
    }

    /// The place of the one of that number.
    #[inline]
    fn place(&self, number: u32) -> usize {
        (self.first.wrapping_add(number)) as usize & (self.places.len().wrapping_sub(1))
    }

    /// Doubles the room. Is not given what needs it, which would have to lie in memory for that.
    #[cold]
    fn grow(&mut self) {
        let room = (2 * self.places.len()).max(4);
        let places: Vec<T> = self.iter().copied().chain(std::iter::repeat(T::default())).take(room).collect();
        (self.places, self.first) = (places.into(), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_the_standard_library_s(steps in prop::collection::vec(prop::option::weighted(0.6, any::<u8>()), 0..300)) {
            let (mut ring, mut model) = (Ring::new(), VecDeque::new());
            for step in steps {
                match step {
                    Some(value) => {
                        ring.push_back(value);
                        model.push_back(value);
                    }
                    None => prop_assert_eq!(ring.pop_front(), model.pop_front()),
                }
                prop_assert_eq!((ring.len(), ring.front()), (model.len(), model.front()));
                prop_assert!(ring.iter().eq(model.iter()));
            }
        }
    }
}
