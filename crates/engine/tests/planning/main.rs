//! How plans are made and judged, with strategies and protections of a line each.

mod audit;
mod execution;
mod gate;
mod history;
mod passes;
mod properties;
mod protections;
mod toys;
mod undo;
