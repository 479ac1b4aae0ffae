/* Asks the server (command_server.py) to run a command in this process's place: `command_client filecheck FILE`.

   It runs a thousand times, and Python alone takes 15 ms to start. */

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

static int fail(const char *what) {
  perror(what);
  return 1;
}

int main(int argc, char **argv) {
  const char *path = getenv("IREE_TUNER_TEST_SERVER");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int size = sizeof address.sun_path;
  if (argc < 2 || !path || snprintf(address.sun_path, size, "%s.%s", path, argv[1]) >= size) {
    fprintf(stderr, "usage: IREE_TUNER_TEST_SERVER=SOCKET %s iree-tuner|filecheck ARGUMENTS\n", argv[0]);
    return 2;
  }
  int server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(server, (struct sockaddr *)&address, sizeof address)) return fail(address.sun_path);

  char *text;
  size_t length;
  FILE *message = open_memstream(&text, &length);
  fprintf(message, "%s%c", getcwd(NULL, 0), 0);
  for (char **each = environ; *each; ++each) fprintf(message, "%s%c", *each, 0);
  for (char **each = argv; *each; ++each) fprintf(message, "%s%c", each == argv ? "" : *each, 0);
  fclose(message);
  uint32_t told = length;
  if (write(server, &told, sizeof told) != sizeof told) return fail("write");

  int files[] = {0, 1, 2};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof files)];
  } with = {.header = {CMSG_LEN(sizeof files), SOL_SOCKET, SCM_RIGHTS}};
  memcpy(CMSG_DATA(&with.header), files, sizeof files);
  struct iovec all = {text, length};
  struct msghdr sent = {
      .msg_iov = &all, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof with.room};
  ssize_t done = sendmsg(server, &sent, 0);
  for (ssize_t more = done; more >= 0 && done < (ssize_t)length; done += more)
    more = write(server, text + done, length - done);
  if (done < (ssize_t)length) return fail("send");

  int32_t status;
  if (recv(server, &status, sizeof status, MSG_WAITALL) != sizeof status) return fail("no status");
  if (status < 0) {
    signal(-status, SIG_DFL);
    raise(-status);
  }
  return status;
}
