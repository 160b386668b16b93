//! `libkilter_waiter.so`: preloaded into MPI ranks, it makes them wait instead of spin.
//!
//! An MPI library polls the network without pause. On a machine with fewer cores than ranks that takes the processor from
//! the very rank whose message it polls for, and every figure becomes a figure of the scheduler. This library turns an
//! empty poll (`epoll_wait` or `poll` with a timeout of zero) into a short blocking one, which ends as soon as something
//! arrives, and gives the ranks real-time priority between `MPI_Init` and `MPI_Finalize`, so that a rank runs the moment
//! its message is there. Launcher daemons keep ordinary priority and are never starved.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `KILTER_WAITER` | `block`: wait; `yield`: give the processor away after an empty poll; `off` or unset: do nothing |
//! | `KILTER_WAITER_US` | longest wait in microseconds, 1 to 1000000 (default 1000) |
//! | `KILTER_WAITER_PRIORITY` | real-time priority (`SCHED_RR`) of a rank, 1 to 99; unset or 0: none |
//!
//! Ranks take turns (`SCHED_RR`): one that polls without a system call, as libfabric's does between two looks at its connections, would keep its processor
//! from the others for ever where there are fewer of them than ranks (`SCHED_FIFO`).
//!
//! Other libraries may be preloaded before it or behind it: it defines `MPI_Init` and `PMPI_Init`, and each calls the next one in order.
//! The hooks allocate nothing, take no lock, and leave `errno` as the system call set it.

pub mod mpi;
pub mod polling;
mod settings;
