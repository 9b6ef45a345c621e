//! Which pictures of a program are shown. They are decoded by a client that trusts its tools: what is no picture by its bytes, is larger when
//! unpacked than any screen, or can hold more than pixels, stays a file.

use super::outcome::Picture;

/// The largest picture that comes back as an image.
pub(super) const MOST_BYTES: usize = 2 * 1024 * 1024;
/// How many come back.
pub(super) const MOST: usize = 8;
/// The bytes of all that come back: a client takes them in one message, in which they are a third longer.
pub(super) const ALL_BYTES: usize = 4 * 1024 * 1024;

/// The first of them that come back.
pub(super) fn within_bounds(mut pictures: Vec<Picture>) -> Vec<Picture> {
    let mut left = ALL_BYTES;
    pictures.truncate(MOST);
    pictures.retain(|picture| left.checked_sub(picture.bytes.len()).inspect(|rest| left = *rest).is_some());
    pictures
}
/// The most pixels; unpacked they take four bytes each.
const MOST_PIXELS: u64 = 40_000_000;
/// The most pixels in a row or a column.
const LONGEST_SIDE: u32 = 32_767;

/// Whether the bytes are a picture of the kind that the name promises, and may be shown.
pub(super) fn is_shown(mime_type: &str, bytes: &[u8]) -> bool {
    let size = match mime_type {
        "image/png" => png(bytes),
        "image/jpeg" => jpeg(bytes),
        // A drawing (SVG) is a document: it can run scripts, load what is elsewhere, and be spelled in ways that each reader reads differently.
        // Models do not read it as a picture either.
        _ => None,
    };
    size.is_some_and(|(width, height)| {
        let sides = 1..=LONGEST_SIDE;
        sides.contains(&width) && sides.contains(&height) && u64::from(width) * u64::from(height) <= MOST_PIXELS
    })
}

/// Width and height, from the chunk that has to be the first (PNG, third edition, 5.6 and 11.2.1).
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let chunk = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR")?;
    Some((u32::from_be_bytes(*chunk.first_chunk()?), u32::from_be_bytes(*chunk.get(4..)?.first_chunk()?)))
}

/// Width and height, from the first frame header (ITU-T T.81, B.1.1.4 and B.2.2).
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut rest = bytes.strip_prefix(b"\xff\xd8")?;
    loop {
        let [0xff, marker, high, low] = *rest.first_chunk()? else { return None };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let segment = rest.get(4..)?;
        match marker {
            // Tables among the frame headers: DHT, JPG, DAC.
            0xc4 | 0xc8 | 0xcc => {}
            0xc0..=0xcf => {
                let [_, h1, h0, w1, w0] = *segment.first_chunk()?;
                return Some((u16::from_be_bytes([w1, w0]).into(), u16::from_be_bytes([h1, h0]).into()));
            }
            // The picture's data would begin before it was said how large it is.
            0xd8..=0xda => return None,
            _ => {}
        }
        rest = segment.get(length.checked_sub(2)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png_of(width: u32, height: u32) -> Vec<u8> {
        [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".as_slice(), &width.to_be_bytes(), &height.to_be_bytes(), b"\x08\x02\0\0\0rest"].concat()
    }

    fn jpeg_of(width: u16, height: u16) -> Vec<u8> {
        let before = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc4\0\x03c\xff\xc2\0\x0b\x08".as_slice();
        [before, &height.to_be_bytes(), &width.to_be_bytes(), b"\x01\x01\x11\0"].concat()
    }

    #[test]
    fn a_picture_is_one_by_its_bytes_and_not_by_its_name() {
        assert!(is_shown("image/png", &png_of(640, 480)) && is_shown("image/jpeg", &jpeg_of(640, 480)));
        for (mime_type, bytes) in [
            ("image/png", b"<script>".as_slice()),
            ("image/png", b"\x89PNG\r\n\x1a\n..."),
            ("image/png", &jpeg_of(1, 1)),
            ("image/jpeg", b""),
            ("image/jpeg", b"\xff\xd8\xff"),
            ("image/jpeg", b"\xff\xd8\xff\xe0\0\0ab"),
            ("image/jpeg", b"\xff\xd8\xff\xda\0\x02data"),
            ("image/svg+xml", &png_of(1, 1)),
            ("image/svg+xml", b"<svg xmlns=\"http://www.w3.org/2000/svg\"><path d=\"M0 0\"/></svg>"),
            ("image/png", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
            ("text/plain", &png_of(1, 1)),
        ] {
            assert!(!is_shown(mime_type, bytes), "{mime_type} {bytes:?}");
        }
    }

    #[test]
    fn pictures_come_back_up_to_a_number_and_so_many_bytes_of_all() {
        let of = |sizes: &[usize]| {
            let picture = |size: &usize| Picture { mime_type: "image/png".to_owned(), bytes: vec![0; *size] };
            within_bounds(sizes.iter().map(picture).collect()).iter().map(|picture| picture.bytes.len()).collect::<Vec<_>>()
        };
        assert_eq!(of(&[1; 20]), [1; MOST]);
        assert_eq!(of(&[MOST_BYTES; 5]), [MOST_BYTES; 2]);
        // A small one after one that is too much is still shown.
        assert_eq!(of(&[MOST_BYTES, MOST_BYTES - 9, 10, 9]), [MOST_BYTES, MOST_BYTES - 9, 9]);
    }

    #[test]
    fn a_picture_that_unpacks_to_more_than_any_screen_is_not_shown() {
        for (width, height) in [(u32::MAX, u32::MAX), (100_000, 1), (1, 100_000), (30_000, 30_000), (0, 5), (5, 0)] {
            assert!(!is_shown("image/png", &png_of(width, height)), "{width}x{height}");
        }
        assert!(!is_shown("image/jpeg", &jpeg_of(u16::MAX, u16::MAX)) && is_shown("image/png", &png_of(7680, 4320)));
    }
}
