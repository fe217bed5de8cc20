//! Where the envelope of a document lies: the contract's pointers, made ready once and found in one walk.
//!
//! Almost every pointer of an envelope has one token, a member of the document; these are gathered together. The others
//! are followed when they are asked for. In the envelope null means absent.

use crate::contract::Envelope;
use crate::json::{self, Names, Node};
use crate::pointer::Pointer;

/// Fields that an envelope has at most, beside the parts of the lane.
const FIELDS: usize = 6;
/// Parts of a lane that are gathered; a lane of more parts is looked up part by part.
const PARTS: usize = 2;

const ID: usize = 0;
const SEQ: usize = 1;
const TIME: usize = 2;
const NONCE: usize = 3;
const EPOCH: usize = 4;
const EXPECTED: usize = 5;

/// The pointers of an envelope.
#[derive(Debug)]
pub(super) struct Fields<'v> {
    envelope: &'v Envelope,
    names: Names<'v>,
    /// Which of the names a field has, if its pointer is one.
    places: [Option<u8>; FIELDS + PARTS],
}

/// What the pointers found in one document.
pub(super) struct Found<'f, 'd> {
    fields: &'f Fields<'f>,
    root: Node<'d>,
    members: [json::Found; FIELDS + PARTS],
}

impl<'v> Fields<'v> {
    pub(super) fn new(envelope: &'v Envelope) -> Self {
        let Envelope { id, lane, seq, time, nonce, epoch, expected } = envelope;
        let fields = [id, seq, time, nonce, epoch, expected].map(Option::as_ref);
        let mut names = Names::with_room(FIELDS + PARTS);
        let mut places = [None; FIELDS + PARTS];
        let pointers = fields.into_iter().chain(lane.iter().take(PARTS).map(Some));
        for (place, pointer) in places.iter_mut().zip(pointers) {
            if let Some([token]) = pointer.map(Pointer::tokens) {
                *place = Some(names.add(token) as u8);
            }
        }
        Self { envelope, names, places }
    }

    pub(super) fn find<'d>(&self, root: Node<'d>) -> Found<'_, 'd> {
        let mut members = [json::Found::NOTHING; FIELDS + PARTS];
        root.gather(&self.names, &mut members[..self.names.len()]);
        Found { fields: self, root, members }
    }
}

impl<'f, 'd> Found<'f, 'd> {
    pub(super) fn id(&self) -> Option<(&'f Pointer, Node<'d>)> {
        self.field(ID, self.fields.envelope.id.as_ref())
    }

    pub(super) fn seq(&self) -> Option<(&'f Pointer, Node<'d>)> {
        self.field(SEQ, self.fields.envelope.seq.as_ref())
    }

    pub(super) fn time(&self) -> Option<(&'f Pointer, Node<'d>)> {
        self.field(TIME, self.fields.envelope.time.as_ref())
    }

    pub(super) fn nonce(&self) -> Option<(&'f Pointer, Node<'d>)> {
        self.field(NONCE, self.fields.envelope.nonce.as_ref())
    }

    pub(super) fn epoch(&self) -> Option<(&'f Pointer, Node<'d>)> {
        self.field(EPOCH, self.fields.envelope.epoch.as_ref())
    }

    pub(super) fn expected(&self) -> Option<(&'f Pointer, Node<'d>)> {
        self.field(EXPECTED, self.fields.envelope.expected.as_ref())
    }

    /// The parts of the lane, each with what is there.
    pub(super) fn lane(&self) -> impl Iterator<Item = (&'f Pointer, Option<Node<'d>>)> {
        let parts = self.fields.envelope.lane.iter().enumerate();
        parts.map(|(part, pointer)| (pointer, self.present(FIELDS + part, pointer)))
    }

    fn field(&self, place: usize, pointer: Option<&'f Pointer>) -> Option<(&'f Pointer, Node<'d>)> {
        let pointer = pointer?;
        Some((pointer, self.present(place, pointer)?))
    }

    fn present(&self, place: usize, pointer: &Pointer) -> Option<Node<'d>> {
        let node = match self.fields.places.get(place).copied().flatten() {
            Some(name) => self.root.gathered(self.members[usize::from(name)]),
            None => self.root.at(pointer),
        };
        node.filter(|node| !node.is_null())
    }
}
