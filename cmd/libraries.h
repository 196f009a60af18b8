/* The libraries that a program's dynamic linker loads for it. */
#ifndef CMD_LIBRARIES_H
#define CMD_LIBRARIES_H

#include "buf.h"

/* What `linker --list program` prints in that environment, with other addresses. */
void libraries_list(const char *linker, const char *program, char *const *envp, struct buf *out);
/* A line of it, which is changed: a library's name and path. False: it has no file. */
bool libraries_line(char *line, const char **name, const char **path);

#endif
