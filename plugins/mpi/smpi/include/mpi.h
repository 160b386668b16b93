/* SMPI's header, completed with declarations that the Rust bindings and Kilter need and SimGrid 3.32 lacks. This file comes
 * first on the include path and includes the real header. */
#ifndef KILTER_SMPI_MPI_H
#define KILTER_SMPI_MPI_H

/* SMPI lacks the const that the standard has there; it is declared below as the standard says, and never called. */
#define MPI_Comm_spawn_multiple kilter_smpi_comm_spawn_multiple
#define PMPI_Comm_spawn_multiple kilter_smpi_pcomm_spawn_multiple
#include_next <mpi.h>
#undef MPI_Comm_spawn_multiple
#undef PMPI_Comm_spawn_multiple
int MPI_Comm_spawn_multiple(int count, char **commands, char ***arguments, const int *most, const MPI_Info *infos, int root,
                            MPI_Comm comm, MPI_Comm *intercomm, int *errors);

/* An enumerator of a named type, which bindgen would give another name. */
#define MPI_SUCCESS 0

/* SMPI's MPI_COMM_WORLD is a variable that is set when a rank starts, and a constant is needed here. The library itself takes
 * this address as the world of the calling rank. */
extern SMPI_Comm smpi_MPI_COMM_UNINITIALIZED;
#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD ((MPI_Comm)&smpi_MPI_COMM_UNINITIALIZED)
/* SMPI's MPI_COMM_SELF is a function call, and no such address stands for it. A program that uses this value as a communicator
 * crashes; Kilter's worker does not use it. */
#undef MPI_COMM_SELF
#define MPI_COMM_SELF ((MPI_Comm)-2)

/* The tools interface, which SMPI does not have; control_variables.c answers for it. */
typedef int MPI_T_cvar_handle;
typedef void *MPI_T_enum;
typedef int MPI_T_pvar_session;
typedef int MPI_T_pvar_handle;
#define MPI_T_ENUM_NULL ((MPI_T_enum)0)
#define MPI_T_BIND_NO_OBJECT 0
#define MPI_T_BIND_MPI_COMM 1
#define MPI_T_PVAR_CLASS_SIZE 3
#define MPI_T_SCOPE_CONSTANT 1
#define MPI_T_SCOPE_READONLY 2
/* SMPI has these enumerators without functions that return them. */
#define MPI_T_ERR_INVALID 101
#define MPI_T_ERR_CVAR_SET_NOT_NOW 102
#define MPI_T_ERR_CVAR_SET_NEVER 103
int PMPI_T_init_thread(int required, int *provided);
int PMPI_T_finalize(void);
int PMPI_T_cvar_get_index(const char *name, int *index);
int PMPI_T_cvar_get_info(int index, char *name, int *name_length, int *verbosity, MPI_Datatype *datatype, MPI_T_enum *items,
                         char *description, int *description_length, int *bind, int *scope);
int PMPI_T_cvar_handle_alloc(int index, void *object, MPI_T_cvar_handle *handle, int *count);
int PMPI_T_cvar_handle_free(MPI_T_cvar_handle *handle);
int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void *buffer);
int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buffer);
int PMPI_T_enum_get_info(MPI_T_enum items, int *count, char *name, int *name_length);
int PMPI_T_enum_get_item(MPI_T_enum items, int position, int *value, char *name, int *name_length);
int PMPI_T_pvar_get_index(const char *name, int variable_class, int *index);
int PMPI_T_pvar_get_info(int index, char *name, int *name_length, int *verbosity, int *variable_class, MPI_Datatype *datatype,
                         MPI_T_enum *items, char *description, int *description_length, int *bind, int *is_read_only,
                         int *is_continuous, int *is_atomic);
int PMPI_T_pvar_session_create(MPI_T_pvar_session *session);
int PMPI_T_pvar_session_free(MPI_T_pvar_session *session);
int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void *object, MPI_T_pvar_handle *handle, int *count);
int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle);
int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer);

#endif
