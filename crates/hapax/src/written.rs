//! Reading what a person wrote: a file's text, or a sentence about why there is none.

use std::io::{ErrorKind, Read as _};
use std::path::Path;

/// The text of a file, or of standard input if it is called `-`.
pub(crate) fn text(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(file).map(|read| bytes = read)
    };
    read.map_err(|error| {
        let known = [
            (ErrorKind::NotFound, "there is no such file"),
            (ErrorKind::IsADirectory, "is a directory; name the files in it"),
            (ErrorKind::PermissionDenied, "this user may not read it"),
        ];
        let sentence = known.iter().find(|(kind, _)| *kind == error.kind());
        sentence.map_or_else(|| format!("cannot be read: {error}"), |(_, sentence)| (*sentence).to_owned())
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let sound = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..sound].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line}: is not UTF-8 (byte {sound} of the file)")
    })
}
