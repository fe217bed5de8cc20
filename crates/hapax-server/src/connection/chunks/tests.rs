use super::*;

/// Where a body ends: read at once, and byte by byte.
fn end_of(body: &str) -> Result<Option<usize>, NoChunk> {
    let mut whole = Chunks::new();
    let (mut held, mut held_slowly) = (Vec::new(), Vec::new());
    let read = whole.read(body.as_bytes(), |data| held.extend_from_slice(data));
    let read = read.map(|end| whole.is_end().then_some(end));
    let mut slow = Chunks::new();
    let mut end = Ok(None);
    for (at, byte) in body.bytes().enumerate() {
        if let Err(fault) = slow.read(&[byte], |data| held_slowly.extend_from_slice(data)) {
            end = Err(fault);
            break;
        }
        if slow.is_end() {
            end = Ok(Some(at + 1));
            break;
        }
    }
    assert_eq!((read, &held), (end, &held_slowly), "{body:?}, byte by byte");
    read
}

#[test]
fn a_body_ends_with_the_empty_chunk() {
    for (body, end) in [
        ("0\r\n\r\n", Some(5)),
        ("0\r\n\r\nGET / HTTP/1.1\r\n", Some(5)),
        ("3\r\nabc\r\n0\r\n\r\n!", Some(13)),
        ("A;name=\"a value\"\r\n0123\r\n6789\r\n000\r\n\r\n", Some(37)),
        ("3\r\nab", None),
        ("", None),
        ("00000000000003\r\nabc\r\n0\r\n\r\n", Some(26)),
    ] {
        assert_eq!(end_of(body), Ok(end), "{body:?}");
    }
}

#[test]
fn what_the_chunks_hold_is_handed_out_and_nothing_else() {
    let mut held = Vec::new();
    let body = "3\r\nabc\r\nA;x\r\n0123\r\n6789\r\n0\r\n\r\n!";
    Chunks::new().read(body.as_bytes(), |data| held.extend_from_slice(data)).expect("chunks");
    assert_eq!(held, b"abc0123\r\n6789");
}

#[test]
fn a_malformed_chunk_is_none() {
    for body in [
        "g\r\n",
        "\r\n",
        "-1\r\n",
        "+1\r\n",
        "0x1\r\n",
        " 1\r\n",
        "1 \r\n",
        "1\t;a\r\n",
        "1\n",
        "1\r\r\n",
        "1;a\nb\r\n",
        ";a\r\n",
        "1;a\0\r\n",
        "1\r\nab",
        "1\r\na\n",
        "1\r\na\rb",
        "0\r\nx: y\r\n\r\n",
        "0\r\n\n",
        "0\r\n\r\r",
        "0000000000000001\r\n",
        "ffffffffffffffff1\r\n",
    ] {
        assert_eq!(end_of(body), Err(NoChunk), "{body:?}");
    }
    assert_eq!(end_of(&format!("1;{}\r\n", "a".repeat(300))), Err(NoChunk), "a line without end");
}
