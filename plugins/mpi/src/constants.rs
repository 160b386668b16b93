//! Constants of the MPI library in use; see `constants.c` for why bindgen cannot give them.

use std::ffi::{c_int, c_longlong, c_uint, c_void};

use mpi_sys::{
    MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Group, MPI_Info, MPI_Op, MPI_Request, MPI_Status, MPI_T_enum, MPI_Win,
};

// SAFETY: `constants.c`, compiled with this crate, defines these symbols with these types.
unsafe extern "C" {
    static kilter_in_place: *mut c_void;
    static kilter_status_ignore: *mut MPI_Status;
    static kilter_statuses_ignore: *mut MPI_Status;
    static kilter_predefined_ops: [MPI_Op; 12];
    static kilter_mpi_family: c_uint;
    fn kilter_t_enum_null() -> MPI_T_enum;
    fn kilter_received_bytes(status: *const MPI_Status) -> c_longlong;
}

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $symbol:ident: $type:ty;)*) => {
        // SAFETY: `constants.c`, compiled with this crate, defines these symbols with these types.
        unsafe extern "C" { $(static $symbol: $type;)* }
        $($(#[$doc])* #[inline] #[must_use] pub fn $name() -> $type {
            // SAFETY: a constant of `constants.c`, initialised before any Rust code runs.
            unsafe { $symbol }
        })*
    };
}

constants! {
    /// `MPI_COMM_WORLD`.
    comm_world = kilter_comm_world: MPI_Comm;
    /// `MPI_COMM_SELF`.
    comm_self = kilter_comm_self: MPI_Comm;
    /// `MPI_COMM_NULL`.
    comm_null = kilter_comm_null: MPI_Comm;
    /// `MPI_GROUP_NULL`.
    group_null = kilter_group_null: MPI_Group;
    /// `MPI_REQUEST_NULL`.
    request_null = kilter_request_null: MPI_Request;
    /// `MPI_ERRORS_RETURN`.
    errors_return = kilter_errors_return: MPI_Errhandler;
    /// `MPI_INFO_NULL`.
    info_null = kilter_info_null: MPI_Info;
    /// `MPI_WIN_NULL`.
    win_null = kilter_win_null: MPI_Win;
    /// `MPI_OP_NULL`.
    op_null = kilter_op_null: MPI_Op;
    /// `MPI_BOR`.
    bor = kilter_bor: MPI_Op;
    /// `MPI_SUM`.
    sum = kilter_sum: MPI_Op;
    /// `MPI_MAX`.
    max = kilter_max: MPI_Op;
    /// `MPI_MINLOC`.
    minloc = kilter_minloc: MPI_Op;
    /// `MPI_DATATYPE_NULL`.
    datatype_null = kilter_datatype_null: MPI_Datatype;
    /// `MPI_BYTE`.
    byte = kilter_byte: MPI_Datatype;
    /// `MPI_PACKED`.
    packed = kilter_packed: MPI_Datatype;
    /// `MPI_CHAR`.
    char = kilter_char: MPI_Datatype;
    /// `MPI_C_BOOL`.
    c_bool = kilter_c_bool: MPI_Datatype;
    /// `MPI_INT`.
    int = kilter_int: MPI_Datatype;
    /// `MPI_UNSIGNED`.
    unsigned = kilter_unsigned: MPI_Datatype;
    /// `MPI_LONG`.
    long = kilter_long: MPI_Datatype;
    /// `MPI_UNSIGNED_LONG`.
    unsigned_long = kilter_unsigned_long: MPI_Datatype;
    /// `MPI_LONG_LONG`.
    long_long = kilter_long_long: MPI_Datatype;
    /// `MPI_UNSIGNED_LONG_LONG`.
    unsigned_long_long = kilter_unsigned_long_long: MPI_Datatype;
    /// `MPI_COUNT`.
    count = kilter_count: MPI_Datatype;
    /// `MPI_INT32_T`.
    int32 = kilter_int32_t: MPI_Datatype;
    /// `MPI_UINT32_T`.
    uint32 = kilter_uint32_t: MPI_Datatype;
    /// `MPI_INT64_T`.
    int64 = kilter_int64_t: MPI_Datatype;
    /// `MPI_UINT64_T`.
    uint64 = kilter_uint64_t: MPI_Datatype;
    /// `MPI_FLOAT`.
    float = kilter_float: MPI_Datatype;
    /// `MPI_DOUBLE`.
    double = kilter_double: MPI_Datatype;
    /// `MPI_DOUBLE_INT`.
    double_int = kilter_double_int: MPI_Datatype;
    /// `MPI_UNDEFINED`.
    undefined = kilter_undefined: c_int;
    /// `MPI_TAG_UB`.
    tag_ub = kilter_tag_ub: c_int;
    /// `MPI_THREAD_MULTIPLE`.
    thread_multiple = kilter_thread_multiple: c_int;
    /// `MPI_COMM_TYPE_SHARED`.
    comm_type_shared = kilter_comm_type_shared: c_int;
    /// `MPI_ERR_COUNT`.
    err_count = kilter_err_count: c_int;
    /// `MPI_ERR_NO_MEM`.
    err_no_mem = kilter_err_no_mem: c_int;
    /// `MPI_ERR_OTHER`.
    err_other = kilter_err_other: c_int;
    /// `MPI_MAX_PROCESSOR_NAME`.
    max_processor_name = kilter_max_processor_name: c_int;
    max_object_name = kilter_max_object_name: c_int;
    /// `MPI_MAX_ERROR_STRING`.
    max_error_string = kilter_max_error_string: c_int;
    /// `MPI_MAX_LIBRARY_VERSION_STRING`.
    max_library_version_string = kilter_max_library_version_string: c_int;
    /// `MPI_COMBINER_NAMED`.
    combiner_named = kilter_combiner_named: c_int;
    /// `MPI_COMBINER_DUP`.
    combiner_dup = kilter_combiner_dup: c_int;
    /// `MPI_COMBINER_CONTIGUOUS`.
    combiner_contiguous = kilter_combiner_contiguous: c_int;
    /// `MPI_COMBINER_RESIZED`.
    combiner_resized = kilter_combiner_resized: c_int;
    /// `MPI_COMBINER_VECTOR`.
    combiner_vector = kilter_combiner_vector: c_int;
    /// `MPI_COMBINER_HVECTOR`.
    combiner_hvector = kilter_combiner_hvector: c_int;
    /// `MPI_COMBINER_INDEXED`.
    combiner_indexed = kilter_combiner_indexed: c_int;
    /// `MPI_COMBINER_HINDEXED`.
    combiner_hindexed = kilter_combiner_hindexed: c_int;
    /// `MPI_COMBINER_INDEXED_BLOCK`.
    combiner_indexed_block = kilter_combiner_indexed_block: c_int;
    /// `MPI_COMBINER_HINDEXED_BLOCK`.
    combiner_hindexed_block = kilter_combiner_hindexed_block: c_int;
    /// `MPI_COMBINER_STRUCT`.
    combiner_struct = kilter_combiner_struct: c_int;
    /// `MPI_COMBINER_SUBARRAY`.
    combiner_subarray = kilter_combiner_subarray: c_int;
    /// `MPI_ORDER_C`.
    order_c = kilter_order_c: c_int;
    /// `MPI_T_SCOPE_CONSTANT`.
    t_scope_constant = kilter_t_scope_constant: c_int;
    /// `MPI_T_SCOPE_READONLY`.
    t_scope_readonly = kilter_t_scope_readonly: c_int;
    /// `MPI_T_BIND_NO_OBJECT`.
    t_bind_no_object = kilter_t_bind_no_object: c_int;
    /// `MPI_T_BIND_MPI_COMM`.
    t_bind_comm = kilter_t_bind_comm: c_int;
    /// `MPI_T_PVAR_CLASS_SIZE`.
    t_pvar_class_size = kilter_t_pvar_class_size: c_int;
}

/// `MPI_IN_PLACE`.
#[inline]
#[must_use]
pub fn in_place() -> *const c_void {
    // SAFETY: a constant of `constants.c`, initialised before any Rust code runs.
    unsafe { kilter_in_place }
}

/// `MPI_STATUS_IGNORE`.
#[inline]
#[must_use]
pub fn status_ignore() -> *mut MPI_Status {
    // SAFETY: a constant of `constants.c`, initialised before any Rust code runs.
    unsafe { kilter_status_ignore }
}

/// `MPI_STATUSES_IGNORE`.
#[inline]
#[must_use]
pub fn statuses_ignore() -> *mut MPI_Status {
    // SAFETY: a constant of `constants.c`, initialised before any Rust code runs.
    unsafe { kilter_statuses_ignore }
}

/// The standard's operators of reductions, whose handles never change their meaning.
#[inline]
#[must_use]
pub fn predefined_ops() -> &'static [MPI_Op; 12] {
    // SAFETY: a constant of `constants.c`, initialised before any Rust code runs.
    unsafe { &kilter_predefined_ops }
}

/// `MPI_T_ENUM_NULL`.
#[must_use]
pub fn t_enum_null() -> MPI_T_enum {
    // SAFETY: returns a constant.
    unsafe { kilter_t_enum_null() }
}

/// ABI of the library: 1 Open MPI, 2 MPICH and its descendants, 0 unknown.
#[must_use]
pub fn mpi_family() -> u32 {
    // SAFETY: a constant of `constants.c`, initialised before any Rust code runs.
    unsafe { kilter_mpi_family }
}

/// Bytes that a message of `MPI_BYTE` brought; `None` where the library cannot tell.
#[inline]
#[must_use]
pub fn received_bytes(status: &MPI_Status) -> Option<usize> {
    // SAFETY: the status was filled by the library.
    usize::try_from(unsafe { kilter_received_bytes(status) }).ok()
}
