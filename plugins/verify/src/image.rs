//! Guarded memory: what a call may write is compared byte by byte with what it should have written.

use crate::elements::{Element, Type};

/// Bytes before and behind a buffer.
const GUARD: usize = 64;

/// A buffer of elements between guards. All bytes that are no data hold a pattern.
#[derive(Clone)]
pub(crate) struct Image {
    /// Guards and elements, in units of 16 bytes, so that they are aligned for any type.
    memory: Vec<u128>,
    bytes: usize,
}

/// Elements at a place of a buffer: index of the first, values.
pub(crate) type Placed = (usize, Vec<Element>);

impl Image {
    /// Room for `span` elements, with `contents` in it.
    pub(crate) fn new(type_: &Type, span: usize, contents: &[Placed]) -> Image {
        let bytes = span * type_.extent;
        let units = (bytes + 2 * GUARD).div_ceil(size_of::<u128>());
        let mut image = Image {
            memory: vec![u128::from_ne_bytes([0xA5; 16]); units],
            bytes,
        };
        image.put(type_, contents);
        image
    }

    /// Stores elements.
    pub(crate) fn put(&mut self, type_: &Type, contents: &[Placed]) {
        for (at, elements) in contents {
            for (index, element) in elements.iter().enumerate() {
                debug_assert!((at + index + 1) * type_.extent <= self.bytes);
                // SAFETY: the problem's span covers its contents.
                unsafe { type_.store(self.address().add((at + index) * type_.extent), *element) };
            }
        }
    }

    /// Address of the first element.
    pub(crate) fn address(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast::<u8>().wrapping_add(GUARD)
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: initialised memory of this length, borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast::<u8>(), self.memory.len() * size_of::<u128>()) }
    }

    /// The elements at `at`.
    fn get(&self, type_: &Type, at: usize) -> Element {
        // SAFETY: `difference` asks only for elements that lie within the buffer.
        unsafe { type_.load(self.bytes().as_ptr().add(GUARD + at * type_.extent)) }
    }

    /// Takes over the data at `places` (index, number) from another image: a call may leave anything there.
    pub(crate) fn adopt(&mut self, type_: &Type, other: &Image, places: &[(usize, usize)]) {
        for index in places.iter().flat_map(|(at, count)| *at..at + count) {
            let element = GUARD + index * type_.extent;
            for field in type_.fields {
                let range = field.range();
                let (begin, length) = (element + range.start, range.len());
                let to = self.memory.as_mut_ptr().cast::<u8>();
                // SAFETY: both images are of one size, and the field lies in them.
                unsafe {
                    to.add(begin)
                        .copy_from_nonoverlapping(other.bytes().as_ptr().add(begin), length)
                };
            }
        }
    }

    /// The first difference from the expected buffer, in words.
    pub(crate) fn difference(&self, expected: &Image, type_: &Type) -> Option<String> {
        let place = self.bytes().iter().zip(expected.bytes()).position(|(a, b)| a != b)?;
        let (got, wanted) = (self.bytes()[place], expected.bytes()[place]);
        let Some(at) = place.checked_sub(GUARD).filter(|at| *at < self.bytes) else {
            return Some(format!(
                "byte {} from the beginning of the buffer of {} bytes was written ({got:#04x})",
                place as i64 - GUARD as i64,
                self.bytes
            ));
        };
        let (index, offset) = (at / type_.extent, at % type_.extent);
        let is_data = type_.fields.iter().any(|field| field.range().contains(&offset));
        Some(if is_data {
            let (has, should) = (self.get(type_, index), expected.get(type_, index));
            let count = type_.fields.len();
            format!(
                "element {index} is {:?}, should be {:?}",
                &has[..count],
                &should[..count]
            )
        } else {
            format!("byte {offset} of element {index}, a hole, was written ({got:#04x}, was {wanted:#04x})")
        })
    }

    /// The first of `contents` that is not there: (index, has, should).
    pub(crate) fn missing(&self, type_: &Type, contents: &[Placed], open: &[(usize, usize)]) -> Option<String> {
        let count = type_.fields.len();
        contents.iter().find_map(|(at, elements)| {
            elements.iter().enumerate().find_map(|(index, should)| {
                let index = at + index;
                let is_open = open.iter().any(|(from, count)| (*from..from + count).contains(&index));
                let has = self.get(type_, index);
                (!is_open && has[..count] != should[..count]).then(|| {
                    format!(
                        "element {index} is {:?}, should be {:?}",
                        &has[..count],
                        &should[..count]
                    )
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Image;
    use crate::elements::TYPES;

    #[test]
    fn guards_holes_and_data_are_told_apart_and_open_places_are_nobodys_business() {
        let type_ = &TYPES[4];
        let expected = Image::new(type_, 3, &[(0, vec![[1, 2], [3, 4]])]);
        let changed = |offset: isize| {
            let mut image = expected.clone();
            // SAFETY: within the guarded memory.
            unsafe { *image.address().offset(offset) ^= 1 };
            image
        };
        let words = |offset| changed(offset).difference(&expected, type_).unwrap_or_default();
        assert_eq!(expected.difference(&expected, type_), None);
        assert_eq!(words(4), "element 0 is [0, 2], should be [1, 2]");
        assert!(words(32).starts_with("byte 0 of element 1, a hole, was written"));
        assert!(words(-1).starts_with("byte -1 from the beginning of the buffer of 96 bytes was written"));
        assert!(words(96).contains("was written"));
        let image = changed(80);
        let mut expected = expected.clone();
        expected.adopt(type_, &image, &[(2, 1)]);
        assert_eq!(image.difference(&expected, type_), None);
    }
}
