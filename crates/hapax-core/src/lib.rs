//! The rules of the ledger, and nothing else.
//!
//! What is *not* here, on purpose: no IO, no clock, no randomness, no `async`, no logging. A function in this crate gets
//! values and returns values; the same arguments give the same answer for ever. That is what lets a simulator replay a
//! failure from a seed, and what lets two stores agree without sharing a line of code.
//!
//! Read in this order: [`words`] (the vocabulary), [`contract`] (the rules), [`event`] (a document, read), [`facts`] (what
//! is known), [`judge`] (the one decision), [`batch`] (many at once), [`lane`], [`counter`], [`claim`].

pub mod words;

pub mod contract;
pub mod source;

pub mod event;
pub mod json;
pub mod number;
mod out;
pub mod patch;
pub mod payload;
pub mod pointer;
pub mod tuple;
pub mod value;

pub mod amount;
mod calendar;
pub mod duration;
pub mod period;
pub mod time;

pub mod batch;
pub mod facts;
pub mod judge;
pub mod lane;
pub mod refusal;

pub mod audit;
pub mod chain;
pub mod counter;
pub mod entry;
pub mod manual;
pub mod problem;
pub mod receipt;
pub mod view;

pub mod explain;

pub mod claim;

pub mod access;

pub mod planted;
