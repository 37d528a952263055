//! How plans are made and judged, with strategies and protections of a line each.

mod gate;
mod passes;
mod protections;
mod toys;
mod undo;
