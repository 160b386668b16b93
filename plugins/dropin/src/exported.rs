//! Functions of MPI that are exported for what has to happen around them; the collectives are in [`crate::entry`].

/// Exports functions under these names. Each hands its call of the next function of the same name to the function that is named: the library's, or that of another preloaded library,
/// which may have to know of it as well.
macro_rules! exported {
    ($($name:ident ($($argument:ident: $type:ty),*) = $around:ident ($($given:ident),*);)*) => { $(
        /// The MPI function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            static REAL: kilter_mpi::Real = kilter_mpi::Real::new(concat!(stringify!($name), "\0"));
            let next = || {
                // SAFETY: what is behind this object under this name has this type, and the caller's call is valid.
                unsafe {
                    let real: unsafe extern "C" fn($($type),*) -> std::ffi::c_int = std::mem::transmute(REAL.address());
                    real($($argument),*)
                }
            };
            $around($($given,)* next)
        }
    )* };
}
pub(crate) use exported;
