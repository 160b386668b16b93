/* Functions that SimGrid 3.32 lacks: control variables, and MPI_Comm_get_parent. This file is part of constants.c in builds for
 * SMPI.
 *
 * The variables are SimGrid's own settings that choose algorithms, under the names that `--cfg=NAME:VALUE` takes. They are read
 * from the running library, so that a launch confirms its settings. They cannot be written, since all ranks of a simulation share
 * them. */
#include <string.h>

/* A C++ string as the GNU library lays it out, which is part of its ABI. */
struct kilter_text {
    const char *begin;
    size_t length;
    char small[16];
};

/* const std::string &simgrid::config::get_value<std::string>(const std::string &name); SimGrid's C interface
 * has it for numbers only. */
extern const struct kilter_text *kilter_smpi_setting(const struct kilter_text *name) __asm__(
    "_ZN7simgrid6config9get_valueINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEERKT_RKS7_");

static const char *const kilter_settings[] = {
    "smpi/coll-selector", "smpi/allgather", "smpi/allgatherv", "smpi/allreduce",      "smpi/alltoall", "smpi/alltoallv",
    "smpi/barrier",       "smpi/bcast",     "smpi/gather",     "smpi/reduce_scatter", "smpi/reduce",   "smpi/scatter",
};

/* Room for a value and its end: names of algorithms are shorter by far. */
enum { KILTER_VALUE = 256 };

int PMPI_T_init_thread(int required, int *provided) {
    (void)required;
    *provided = MPI_THREAD_SINGLE;
    return MPI_SUCCESS;
}

int PMPI_T_finalize(void) { return MPI_SUCCESS; }

int PMPI_T_cvar_get_index(const char *name, int *index) {
    for (size_t i = 0; i < sizeof kilter_settings / sizeof *kilter_settings; i++)
        if (strcmp(kilter_settings[i], name) == 0) {
            *index = (int)i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID;
}

int PMPI_T_cvar_get_info(int index, char *name, int *name_length, int *verbosity, MPI_Datatype *datatype, MPI_T_enum *items,
                         char *description, int *description_length, int *bind, int *scope) {
    (void)index, (void)name, (void)description;
    *name_length = *description_length = *verbosity = 0;
    *datatype = MPI_CHAR;
    *items = MPI_T_ENUM_NULL;
    *bind = MPI_T_BIND_NO_OBJECT;
    *scope = MPI_T_SCOPE_CONSTANT;
    return MPI_SUCCESS;
}

int PMPI_T_cvar_handle_alloc(int index, void *object, MPI_T_cvar_handle *handle, int *count) {
    (void)object;
    *handle = index;
    *count = KILTER_VALUE;
    return MPI_SUCCESS;
}

int PMPI_T_cvar_handle_free(MPI_T_cvar_handle *handle) {
    (void)handle;
    return MPI_SUCCESS;
}

int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void *buffer) {
    const struct kilter_text name = {kilter_settings[handle], strlen(kilter_settings[handle]), {0}};
    const struct kilter_text *value = kilter_smpi_setting(&name);
    const size_t length = value->length < KILTER_VALUE ? value->length : KILTER_VALUE - 1;
    memcpy(buffer, value->begin, length);
    ((char *)buffer)[length] = '\0';
    return MPI_SUCCESS;
}

int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buffer) {
    (void)handle, (void)buffer;
    return MPI_T_ERR_CVAR_SET_NEVER;
}

int PMPI_T_enum_get_info(MPI_T_enum items, int *count, char *name, int *name_length) {
    (void)items, (void)count, (void)name, (void)name_length;
    return MPI_T_ERR_INVALID;
}

int PMPI_T_enum_get_item(MPI_T_enum items, int position, int *value, char *name, int *name_length) {
    (void)items, (void)position, (void)value, (void)name, (void)name_length;
    return MPI_T_ERR_INVALID;
}

/* It has no performance variables: the first function says so, and the others are never reached. */
int PMPI_T_pvar_get_index(const char *name, int variable_class, int *index) {
    (void)name, (void)variable_class, (void)index;
    return MPI_T_ERR_INVALID;
}

int PMPI_T_pvar_get_info(int index, char *name, int *name_length, int *verbosity, int *variable_class, MPI_Datatype *datatype,
                         MPI_T_enum *items, char *description, int *description_length, int *bind, int *is_read_only,
                         int *is_continuous, int *is_atomic) {
    (void)index, (void)name, (void)name_length, (void)verbosity, (void)variable_class, (void)datatype, (void)items;
    (void)description, (void)description_length, (void)bind, (void)is_read_only, (void)is_continuous, (void)is_atomic;
    return MPI_T_ERR_INVALID;
}

int PMPI_T_pvar_session_create(MPI_T_pvar_session *session) {
    *session = 0;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_session_free(MPI_T_pvar_session *session) {
    (void)session;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void *object, MPI_T_pvar_handle *handle, int *count) {
    (void)session, (void)index, (void)object, (void)handle, (void)count;
    return MPI_T_ERR_INVALID;
}

int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle) {
    (void)session, (void)handle;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    (void)session, (void)handle;
    return MPI_T_ERR_INVALID;
}

int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer) {
    (void)session, (void)handle, (void)buffer;
    return MPI_T_ERR_INVALID;
}

/* SMPI's own function ends the simulation with "not yet implemented", and the Rust binding calls it before every MPI_Finalize.
 * Simulated programs are never spawned, so they have no parent. */
int MPI_Comm_get_parent(MPI_Comm *parent) {
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
