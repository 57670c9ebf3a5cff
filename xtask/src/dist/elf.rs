//! Run-time dependencies of a program, read from its ELF file.

/// The type of the program header that names the dynamic loader.
const PT_INTERP: u32 = 3;

/// Returns whether it is a program without a dynamic loader.
pub fn is_static(bytes: &[u8]) -> bool {
    program_header_types(bytes).is_some_and(|kinds| !kinds.is_empty() && !kinds.contains(&PT_INTERP))
}

/// Returns the types of the program headers of a 64-bit program.
fn program_header_types(bytes: &[u8]) -> Option<Vec<u32>> {
    bytes.strip_prefix(b"\x7fELF\x02\x01")?;
    let number = |at: usize, size: usize| -> Option<usize> {
        let part = bytes.get(at..at.checked_add(size)?)?;
        usize::try_from(part.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))).ok()
    };
    let table = number(32, 8)?;
    let size = number(54, 2)?;
    let count = number(56, 2)?;
    (0..count).map(|nth| u32::try_from(number(table.checked_add(nth * size)?, 4)?).ok()).collect()
}

/// Returns the newest glibc version among its symbols, such as `2.34`.
pub fn newest_glibc(bytes: &[u8]) -> Option<String> {
    const NAME: &[u8] = b"GLIBC_2.";
    let ends = bytes.windows(NAME.len()).enumerate().filter(|(_, part)| *part == NAME);
    let minor = |(at, _): (usize, &[u8])| {
        let rest = &bytes[at + NAME.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        str::from_utf8(&rest[..digits]).ok()?.parse::<u32>().ok()
    };
    ends.filter_map(minor).max().map(|minor| format!("2.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an ELF header with program headers of these types.
    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56]) = (64, 56, kinds.len() as u8);
        for kind in kinds {
            bytes.extend(kind.to_le_bytes());
            bytes.extend([0; 52]);
        }
        bytes
    }

    #[test]
    fn program_with_a_loader_is_not_static() {
        assert!(is_static(&program(&[1, 1, 2])));
        assert!(!is_static(&program(&[6, 3, 1])));
        assert!(!is_static(b"#!/bin/sh\n"));
        assert!(!is_static(&program(&[1])[..66]));
    }

    #[test]
    fn newest_glibc_is_found() {
        assert_eq!(newest_glibc(b"..GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.17.."), Some("2.34".to_owned()));
        assert_eq!(newest_glibc(b"nothing"), None);
    }
}
