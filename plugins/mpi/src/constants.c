/* Constants that MPI libraries define as casts or as enumerators of differing types, which bindgen cannot read alike. */
/* For NULL, which mpi.h of MPICH uses and does not define. */
#include <stddef.h>

#include <mpi.h>

void *const kilter_in_place = MPI_IN_PLACE;
const MPI_Comm kilter_comm_world = MPI_COMM_WORLD;
const MPI_Comm kilter_comm_self = MPI_COMM_SELF;
const MPI_Comm kilter_comm_null = MPI_COMM_NULL;
const MPI_Group kilter_group_null = MPI_GROUP_NULL;
const MPI_Request kilter_request_null = MPI_REQUEST_NULL;
const MPI_Errhandler kilter_errors_return = MPI_ERRORS_RETURN;
const MPI_Info kilter_info_null = MPI_INFO_NULL;
const MPI_Win kilter_win_null = MPI_WIN_NULL;
MPI_Status *const kilter_status_ignore = MPI_STATUS_IGNORE;
MPI_Status *const kilter_statuses_ignore = MPI_STATUSES_IGNORE;

const MPI_Op kilter_op_null = MPI_OP_NULL;
const MPI_Op kilter_bor = MPI_BOR;
const MPI_Op kilter_sum = MPI_SUM;
const MPI_Op kilter_max = MPI_MAX;
const MPI_Op kilter_minloc = MPI_MINLOC;

/* The operators of the standard that collectives take. */
const MPI_Op kilter_predefined_ops[12] = {MPI_MAX,  MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                                          MPI_LOR,  MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};

const MPI_Datatype kilter_datatype_null = MPI_DATATYPE_NULL;
const MPI_Datatype kilter_byte = MPI_BYTE;
const MPI_Datatype kilter_packed = MPI_PACKED;
const MPI_Datatype kilter_char = MPI_CHAR;
const MPI_Datatype kilter_c_bool = MPI_C_BOOL;
const MPI_Datatype kilter_int = MPI_INT;
const MPI_Datatype kilter_unsigned = MPI_UNSIGNED;
const MPI_Datatype kilter_long = MPI_LONG;
const MPI_Datatype kilter_unsigned_long = MPI_UNSIGNED_LONG;
const MPI_Datatype kilter_long_long = MPI_LONG_LONG;
const MPI_Datatype kilter_unsigned_long_long = MPI_UNSIGNED_LONG_LONG;
const MPI_Datatype kilter_count = MPI_COUNT;
const MPI_Datatype kilter_int32_t = MPI_INT32_T;
const MPI_Datatype kilter_uint32_t = MPI_UINT32_T;
const MPI_Datatype kilter_int64_t = MPI_INT64_T;
const MPI_Datatype kilter_uint64_t = MPI_UINT64_T;
const MPI_Datatype kilter_float = MPI_FLOAT;
const MPI_Datatype kilter_double = MPI_DOUBLE;
const MPI_Datatype kilter_double_int = MPI_DOUBLE_INT;

const int kilter_undefined = MPI_UNDEFINED;
const int kilter_tag_ub = MPI_TAG_UB;
const int kilter_thread_multiple = MPI_THREAD_MULTIPLE;
const int kilter_comm_type_shared = MPI_COMM_TYPE_SHARED;
const int kilter_err_count = MPI_ERR_COUNT;
const int kilter_err_no_mem = MPI_ERR_NO_MEM;
const int kilter_err_other = MPI_ERR_OTHER;
const int kilter_max_processor_name = MPI_MAX_PROCESSOR_NAME;
const int kilter_max_object_name = MPI_MAX_OBJECT_NAME;
const int kilter_max_error_string = MPI_MAX_ERROR_STRING;
const int kilter_max_library_version_string = MPI_MAX_LIBRARY_VERSION_STRING;

const int kilter_combiner_named = MPI_COMBINER_NAMED;
const int kilter_combiner_dup = MPI_COMBINER_DUP;
const int kilter_combiner_contiguous = MPI_COMBINER_CONTIGUOUS;
const int kilter_combiner_resized = MPI_COMBINER_RESIZED;
const int kilter_combiner_vector = MPI_COMBINER_VECTOR;
const int kilter_combiner_hvector = MPI_COMBINER_HVECTOR;
const int kilter_combiner_indexed = MPI_COMBINER_INDEXED;
const int kilter_combiner_hindexed = MPI_COMBINER_HINDEXED;
const int kilter_combiner_indexed_block = MPI_COMBINER_INDEXED_BLOCK;
const int kilter_combiner_hindexed_block = MPI_COMBINER_HINDEXED_BLOCK;
const int kilter_combiner_struct = MPI_COMBINER_STRUCT;
const int kilter_combiner_subarray = MPI_COMBINER_SUBARRAY;
const int kilter_order_c = MPI_ORDER_C;

const int kilter_t_scope_constant = MPI_T_SCOPE_CONSTANT;
const int kilter_t_scope_readonly = MPI_T_SCOPE_READONLY;
const int kilter_t_bind_no_object = MPI_T_BIND_NO_OBJECT;
const int kilter_t_bind_comm = MPI_T_BIND_MPI_COMM;
const int kilter_t_pvar_class_size = MPI_T_PVAR_CLASS_SIZE;
MPI_T_enum kilter_t_enum_null(void) { return MPI_T_ENUM_NULL; }

/* The family of libraries whose ABI this one has. A plugin and the program that loads it must have the same. */
#if defined(OPEN_MPI)
const unsigned kilter_mpi_family = 1;
#elif defined(MPICH_VERSION) || defined(MPICH) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
const unsigned kilter_mpi_family = 2;
#else
const unsigned kilter_mpi_family = 0;
#endif

/* Bytes of a received message of MPI_BYTE; -1 if the library cannot tell. Called for every message. If mpi.h shows the field as
 * part of the ABI, reading it saves the 44 instructions of MPI_Get_count. */
long long kilter_received_bytes(const MPI_Status *status) {
#if defined(OPEN_MPI)
    return (long long)status->_ucount;
#else
    int count = -1;
    return PMPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS && count != MPI_UNDEFINED ? count : -1;
#endif
}

#if defined(SMPI_H)
#include "../smpi/control_variables.c"
#endif
