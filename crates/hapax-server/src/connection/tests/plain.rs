//! HTTP/1.1 read from the whole of its bytes, by splitting and searching: slow, strict, and nothing in common with the
//! door but RFC 9112.

/// A request as somebody saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) line: String,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    /// None if it is no body, or did not come to its end.
    pub(super) body: Option<Vec<u8>>,
}

/// What there is to see.
pub(super) struct Plain {
    pub(super) seen: Vec<Seen>,
    /// Is what follows no request?
    pub(super) is_refused: bool,
}

pub(super) fn read_plainly(mut rest: &[u8]) -> Plain {
    let mut seen = Vec::new();
    loop {
        while let Some(behind) = rest.strip_prefix(b"\r\n") {
            rest = behind;
        }
        let head = match head_of(rest) {
            Head::Whole(head) => head,
            Head::Unfinished => return Plain { seen, is_refused: false },
            Head::Refused => return Plain { seen, is_refused: true },
        };
        let Some((request, is_last, length)) = read_head(head) else { return Plain { seen, is_refused: true } };
        rest = &rest[head.len()..];
        let body = match length {
            Some(length) => rest.split_at_checked(length).map(|(body, behind)| (body.to_vec(), behind)),
            None => read_chunks(rest),
        };
        let Some((body, behind)) = body else {
            seen.push(Seen { body: None, ..request });
            return Plain { seen, is_refused: false };
        };
        seen.push(Seen { body: Some(body), ..request });
        if is_last {
            return Plain { seen, is_refused: false };
        }
        rest = behind;
    }
}

enum Head<'b> {
    Whole(&'b [u8]),
    Unfinished,
    Refused,
}

fn head_of(bytes: &[u8]) -> Head<'_> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
    let looked_at = &bytes[..end.unwrap_or(bytes.len())];
    let bare = looked_at.iter().enumerate().any(|(at, byte)| *byte == b'\n' && (at == 0 || bytes[at - 1] != b'\r'));
    match end {
        _ if bare => Head::Refused,
        Some(end) => Head::Whole(&bytes[..end]),
        None => Head::Unfinished,
    }
}

/// The request, whether it is the connection's last, and its length; none if it comes in chunks.
fn read_head(head: &[u8]) -> Option<(Seen, bool, Option<usize>)> {
    let is_word = |text: &[u8]| {
        let letters = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        !text.is_empty() && text.iter().all(|byte| letters.contains(byte))
    };
    let text: Vec<char> = head[..head.len() - 4].iter().map(|byte| char::from(*byte)).collect();
    let text: String = text.into_iter().collect();
    let mut lines = text.split("\r\n");
    let first = lines.next()?;
    let [method, target, version] = first.split(' ').collect::<Vec<_>>()[..] else { return None };
    let is_10 = version == "HTTP/1.0";
    let uri: http::Uri = target.parse().ok()?;
    if !target.starts_with(['/', '*']) && !target.contains("://") {
        return None;
    }
    if !is_word(method.as_bytes())
        || !target.bytes().all(|it| it.is_ascii_graphic())
        || !(is_10 || version == "HTTP/1.1")
    {
        return None;
    }
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let value: Vec<u8> = value.chars().map(|letter| u32::from(letter) as u8).collect();
        if !is_word(name.as_bytes()) || value.iter().any(|byte| (*byte < 32 && *byte != 9) || *byte == 127) {
            return None;
        }
        headers.push((name.to_lowercase(), value.trim_ascii().to_vec()));
    }
    let all =
        |wanted: &str| headers.iter().filter(|(name, _)| name == wanted).map(|it| it.1.clone()).collect::<Vec<_>>();
    let hosts = all("host").len();
    let (lengths, codings) = (all("content-length"), all("transfer-encoding"));
    if hosts > 1 || (hosts == 0 && !is_10) || lengths.len() + codings.len() > 1 {
        return None;
    }
    let length = match (&lengths[..], &codings[..]) {
        ([], []) => Some(0),
        ([length], []) if length.iter().all(u8::is_ascii_digit) => Some(String::from_utf8_lossy(length).parse().ok()?),
        ([], [coding]) if coding.eq_ignore_ascii_case(b"chunked") && !is_10 => None,
        (_, _) => return None,
    };
    let seen = Seen { line: format!("{method} {uri}"), headers, body: None };
    Some((seen, is_10, length))
}

fn read_chunks(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let line = std::str::from_utf8(&rest[..end]).ok()?;
        let (size, extension) = line.split_once(';').unwrap_or((line, ""));
        let is_size = !size.is_empty() && size.len() <= 15 && size.chars().all(|it| it.is_ascii_hexdigit());
        if !is_size || !extension.bytes().all(|byte| (32..127).contains(&byte)) {
            return None;
        }
        let size = usize::from_str_radix(size, 16).ok()?;
        let (data, behind) = rest[end + 2..].split_at_checked(size)?;
        body.extend_from_slice(data);
        rest = behind.strip_prefix(b"\r\n")?;
        if size == 0 {
            return Some((body, rest));
        }
    }
}
