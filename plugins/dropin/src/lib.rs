//! `libkilter.so`: replaces collectives of an MPI library by others, call by call, as a profile says.
//!
//! ```text
//! mpirun -x LD_PRELOAD=/path/libkilter.so -x KILTER_PROFILE=/path/profile.json ./program
//! ```
//!
//! | Variable         | Value                                                                                             |
//! | ---------------- | ------------------------------------------------------------------------------------------------- |
//! | `KILTER_PROFILE` | the profile's path; it must be the same file for all ranks                                        |
//! | `KILTER_MODE`    | `replace` (default), `log` (replaces nothing, says at the end what it would have), `off`           |
//! | `KILTER_LOG`     | `1`: says at the end, on standard error of rank 0, how often each implementation ran               |
//! | `KILTER_PRIVATE_AFTER` | calls with a rule that the library carries out on a new communicator before a private one is made for it (default 1) |
//! | `KILTER_ANY_LIBRARY` | `1`: a profile that was tuned for another library, or another version of it, is followed all the same |
//! | `KILTER_INIT_WAIT`    | seconds that a rank waits in `MPI_Init` for others to say that they have the drop-in (default 10)  |
//! | `KILTER_GPU`     | where a rank has a GPU's runtime mapped: `library` (default) leaves all to the library, `host` asks about each buffer |
//! | `KILTER_ONLINE` | `1`: candidates are tried in the running program, which settles on the fastest ([`online`]); settings may be named instead, such as `alpha=0.01` |
//! | `KILTER_ONLINE_ROWS` | rows that are tried beside those of the profile, between commas: `allreduce.ring,scan.pipelined_chain@8192`; `all` |
//! | `KILTER_ONLINE_DIR` | folder in which jobs leave what they learnt (default `~/.local/share/kilter/online`); `none`: nowhere |
//!
//! All blocking collectives of several ranks are exported, `MPI_X` and `PMPI_X`, and where the library has them (MPI 4) the
//! large count forms `MPI_X_c`. Another tool of the profiling interface is preloaded before this library
//! (`LD_PRELOAD=tool.so:libkilter.so`): then it sees every call. Behind it, it sees none of these, since the library's own
//! functions are reached by their names `PMPI_X`.
//!
//! Whatever is wrong with the profile or a plugin, rank 0 says so once and the program gets the library's own collectives.
//!
//! * [`entry`]: the exported functions. Both `MPI_X` and `PMPI_X` are: the Fortran layer of Open MPI calls `PMPI_X`.
//! * [`kilter_mpi::Real`]: the library's functions, found behind this one.
//! * [`given`], [`describe`], [`replace`]: from a call to the implementation that runs, by facts that all ranks share.
//! * [`device`]: what is done where buffers may lie in a GPU's memory.
//! * [`prepared`]: a call like one before goes the short way.
//! * [`communicator`]: what is kept for each communicator, as an attribute of it ([`key`]), and the memory of its call under way ([`tables`]); [`agree`]: what its ranks agree on first, by
//!   [`maxima`]; [`placement`]: how they lie on nodes, where a rule asks for it; [`private`]: where implementations send.
//! * [`inside`]: what runs for calls inside the implementations that are made of collectives.
//! * [`start`], [`rules`]: profile and plugins, at the first intercepted call, and for later ones [`started`]; [`kilter_host`] loads the
//!   plugins.
//! * [`online`]: what is tried while the program runs; [`sites`]: how far that has come, and what is learnt; [`wanted`], [`world`]: who wants it, and facts about all
//!   ranks, found out in `MPI_Init`; [`tell`]: collectives by which ranks tell each other what they know.
//! * [`exported`]: names of MPI around which something happens. [`free`]: what has to be completed before the library frees a communicator.
//! * [`init`]: whether every rank has the drop-in, when MPI begins; [`finish`]: counts, when it ends.

mod agree;
mod communicator;
mod describe;
mod device;
pub mod entry;
mod exported;
pub mod finish;
pub mod free;
mod given;
pub mod init;
mod inside;
mod key;
mod maxima;
mod node;
mod online;
mod placement;
mod prepared;
mod private;
mod replace;
mod rules;
mod sites;
mod start;
mod started;
mod tables;
mod tell;
mod tried;
mod unfollowed;
mod wanted;
mod warning;
mod world;
