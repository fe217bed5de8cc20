use super::*;

fn is_at_a_page(sectors: &Sectors) -> bool {
    sectors.bytes().as_ptr().align_offset(PAGE) == 0
}

#[test]
fn bytes_begin_at_a_page_however_often_they_are_written_anew() {
    let mut sectors = Sectors::default();
    for length in [1, 511, 512, 513, 100_000, 3, 0] {
        let bytes = vec![7; length];
        sectors.begin(length.next_multiple_of(512));
        sectors.put(&bytes[..length / 2]);
        sectors.put(&bytes[length / 2..]);
        sectors.fill_up(512);
        assert!(is_at_a_page(&sectors), "{length} bytes");
        assert_eq!(sectors.bytes().len(), length.max(1).next_multiple_of(512));
        assert_eq!(&sectors.bytes()[..length], bytes);
        assert!(
            sectors.bytes()[length..].iter().all(|byte| *byte == 0),
            "the rest is zeros, whatever was there before"
        );
    }
}

#[test]
fn zeros_are_zeros() {
    let zeros = Sectors::zeros(8192);
    assert!(is_at_a_page(&zeros));
    assert_eq!(zeros.bytes(), [0; 8192]);
}
