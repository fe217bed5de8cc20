//! A chunked body: what it holds, and where it ends.
//!
//! A part of what RFC 9112 allows: sizes of hexadecimal digits, extensions of visible letters, no trailers.

/// The longest line of a chunk's size, extensions included. They mean nothing here.
const LINE_BYTES_MAX: u16 = 256;
/// The most digits of a size: any more would not fit.
const DIGITS_MAX: u16 = 15;

/// Reads a chunked body as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    at: At,
    left: u64,
    line: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Size,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    EndCr,
    EndLf,
    End,
}

/// Not a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoChunk;

impl Default for Chunks {
    fn default() -> Self {
        Self { at: At::Size, left: 0, line: 0 }
    }
}

impl Chunks {
    /// At the beginning of a body.
    pub fn new() -> Self {
        Self::default()
    }

    /// Did the body end?
    pub fn is_end(&self) -> bool {
        self.at == At::End
    }

    /// Reads on, and hands out what the chunks hold. Answers how many of the bytes belong to the body; fewer than all only if it
    /// ends there.
    pub fn read(&mut self, bytes: &[u8], mut data: impl FnMut(&[u8])) -> Result<usize, NoChunk> {
        let mut at = 0;
        while at < bytes.len() && !self.is_end() {
            if self.at == At::Data {
                let rest = bytes.len() - at;
                let taken = usize::try_from(self.left).map_or(rest, |left| left.min(rest));
                data(&bytes[at..at + taken]);
                at += taken;
                self.left -= taken as u64;
                if self.left == 0 {
                    self.at = At::DataCr;
                }
                continue;
            }
            self.step(bytes[at])?;
            at += 1;
        }
        Ok(at)
    }

    fn step(&mut self, byte: u8) -> Result<(), NoChunk> {
        self.at = match (self.at, byte) {
            (At::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') if self.line < DIGITS_MAX => {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                self.left = self.left << 4 | u64::from(digit);
                self.line += 1;
                At::Size
            }
            (At::Size, b';') if self.line > 0 => At::Extension,
            (At::Size, b'\r') if self.line > 0 => At::SizeLf,
            (At::Extension, b'\r') => At::SizeLf,
            (At::Extension, b' '..=b'~') if self.line < LINE_BYTES_MAX => {
                self.line += 1;
                At::Extension
            }
            (At::SizeLf, b'\n') => {
                self.line = 0;
                if self.left == 0 { At::EndCr } else { At::Data }
            }
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => At::Size,
            (At::EndCr, b'\r') => At::EndLf,
            (At::EndLf, b'\n') => At::End,
            (_, _) => return Err(NoChunk),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
