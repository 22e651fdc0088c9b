//! What an operator asks of dunning from a shell: why, and whether it can work.

mod doctor;
mod explain;
