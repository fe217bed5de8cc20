//! The targets. Whoever has them as a module has `crate::allocations` as well.
//!
//! Read in this order: [`document`], [`contract`], [`judge`] (text that strangers send), [`body`] (a request around it),
//! [`frames`] and [`index`] (files that a disk may have spoiled), then `damage`, which they share.

pub mod document;

pub mod contract;

pub mod judge;

pub mod body;

pub mod frames;

pub mod index;

mod damage;
