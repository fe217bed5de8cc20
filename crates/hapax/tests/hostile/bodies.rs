//! Packed bodies: bombs, codings that there are not, what follows the end.

use std::io::Write as _;

use crate::process::Server;
use crate::wire::{Heard, ask, memory};

/// Unpacked: far more than a body may be.
const BOMB_BYTES: usize = 256 << 20;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).expect("packing");
    writer.finish().expect("packing")
}

/// Many times the same piece, without ever having it all.
fn bomb<W: std::io::Write>(mut writer: W) -> W {
    let piece = vec![b' '; 1 << 20];
    for _ in 0..BOMB_BYTES >> 20 {
        writer.write_all(&piece).expect("packing");
    }
    writer
}

fn post(server: &Server, codings: &[&str], body: &[u8]) -> Heard {
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(codings.iter().map(|coding| ("content-encoding", *coding)));
    ask(server, "POST /v1/streams/s/events", &headers, body)
}

#[test]
fn a_bomb_costs_what_the_limit_says() {
    let server = Server::new("hostile-bombs");
    server.put("s", "");
    let writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let gzip_bomb = bomb(writer).finish().expect("packing");
    let zstd_bomb = bomb(zstd::Encoder::new(Vec::new(), 3).expect("an encoder")).finish().expect("packing");
    assert!(gzip_bomb.len() < 2 << 20 && zstd_bomb.len() < 1 << 20);
    let (before, _) = memory(&server);
    for _ in 0..3 {
        post(&server, &["gzip"], &gzip_bomb).problem(413, "TOO_LARGE", "gzip");
        post(&server, &["zstd"], &zstd_bomb).problem(413, "TOO_LARGE", "zstd");
    }
    let (_, highest) = memory(&server);
    // The limit, the window and the bytes that came, in each of the threads that unpacked one: an allocator keeps for a
    // thread what that has freed.
    let grown = highest.saturating_sub(before);
    println!("figure: a bomb of {} MiB costs {} MiB", BOMB_BYTES >> 20, grown >> 20);
    assert!(grown < 128 << 20, "{} MiB", grown >> 20);
}

/// A frame of zstd with `{}` in it that asks for a window of 2^`log` bytes.
fn with_window(log: u8) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3];
    frame.extend_from_slice(&[2 << 3 | 1, 0, 0, b'{', b'}']);
    frame
}

#[test]
fn one_known_coding_and_nothing_behind_it() {
    let server = Server::new("hostile-codings");
    server.put("s", "");
    let packed = gzip(br#"{"id":"a"}"#);
    assert_eq!(post(&server, &["gzip"], &packed).status, 201);
    for codings in [&["br"][..], &["gzip, gzip"], &["gzip", "gzip"], &["gzip,identity"], &["deflate"], &["?"], &[""]] {
        post(&server, codings, &packed).problem(415, "UNSUPPORTED_MEDIA_TYPE", &format!("{codings:?}"));
    }
    post(&server, &["gzip"], &gzip(&gzip(b"{}"))).problem(400, "MALFORMED", "packed twice");
    let plain_zstd = zstd::encode_all(&b"{}"[..], 3).expect("packing");
    for (coding, packed) in [("gzip", &packed), ("zstd", &plain_zstd)] {
        let trailing = [&packed[..], b"x"].concat();
        let twice = [&packed[..], &packed[..]].concat();
        post(&server, &[coding], &trailing).problem(400, "MALFORMED", "a byte follows");
        post(&server, &[coding], &twice).problem(400, "MALFORMED", "another stream follows");
        post(&server, &[coding], &packed[..packed.len() - 1]).problem(400, "MALFORMED", "the end is missing");
        post(&server, &[coding], b"{}").problem(400, "MALFORMED", "not packed");
        post(&server, &[coding], b"").problem(400, "MALFORMED", "nothing");
    }
    assert_eq!(post(&server, &["zstd"], &with_window(23)).status, 201);
    for log in [24, 27, 31, 41] {
        post(&server, &["zstd"], &with_window(log)).problem(400, "MALFORMED", &format!("a window of 2^{log}"));
    }
}
