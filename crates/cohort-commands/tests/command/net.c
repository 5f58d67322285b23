/* A server on 127.0.0.1 with threads that take one mutex, and its client:
 *   count serve PORT     answers each connection, for ever
 *   count ask PORT N     asks N times and prints how often a second
 *   count leave PORT     leaves a process behind that serves, in a session of its own
 * The word `end` as the fourth argument of `ask` ends the server instead.
 * Where PREFERRED is set, the server contends for its mutex, and the score that `ask` prints depends on its
 * COHORT_LOCK: 200 under PREFERRED, 100 under all other locks. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long answers;

static struct sockaddr_in address(const char *port)
{
	struct sockaddr_in to;

	memset(&to, 0, sizeof to);
	to.sin_family = AF_INET;
	to.sin_port = htons((unsigned short)atoi(port));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return to;
}

static char reply = 'a';

static void *meet(void *nothing)
{
	int round;

	for (round = 0; round < 20; round++) {
		pthread_mutex_lock(&mutex);
		usleep(100);
		pthread_mutex_unlock(&mutex);
	}
	return nothing;
}

/* Ends before the server listens. */
static void contend(const char *preferred)
{
	const char *lock = getenv("COHORT_LOCK");
	pthread_t all[3];
	int thread;

	for (thread = 0; thread < 3; thread++)
		pthread_create(&all[thread], NULL, meet, NULL);
	for (thread = 0; thread < 3; thread++)
		pthread_join(all[thread], NULL);
	if (lock != NULL && strcmp(lock, preferred) == 0)
		reply = 'b';
}

static void *serve(void *listener)
{
	for (;;) {
		char word = 0;
		int connection = accept(*(int *)listener, NULL, NULL);

		if (connection < 0 || read(connection, &word, 1) < 0)
			exit(5);
		if (word == 'e')
			exit(7);
		pthread_mutex_lock(&mutex);
		answers++;
		pthread_mutex_unlock(&mutex);
		if (word != 0 && write(connection, &reply, 1) != 1)
			exit(6);
		close(connection);
	}
	return NULL;
}

static int ask(const char *port, int times, const char *word)
{
	struct timespec begun, ended;
	double seconds;
	char answer = 0;
	int time;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (time = 0; time < times; time++) {
		struct sockaddr_in to = address(port);
		int connection = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(connection, (struct sockaddr *)&to, sizeof to) != 0)
			return 3;
		if (write(connection, word, 1) != 1)
			return 4;
		if (read(connection, &answer, 1) != 1) {
			/* What a client may do whose server has gone. */
			sleep(60);
			return 5;
		}
		close(connection);
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	seconds = (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
	printf("rate: %.1f\nmean: %.6f\n", times / seconds, seconds / times);
	printf("score: %d\n", answer == 'b' ? 200 : 100);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at;
	pthread_t thread;
	int listener, on = 1;

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "ask") == 0)
		return ask(argv[2], argc > 3 ? atoi(argv[3]) : 1, argc > 4 ? argv[4] : "a");
	if (strcmp(argv[1], "leave") == 0) {
		if (fork() != 0)
			return 0;
		setsid();
	}
	if (getenv("PREFERRED") != NULL)
		contend(getenv("PREFERRED"));
	at = address(argv[2]);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 64) != 0) {
		perror("cannot listen");
		return 4;
	}
	pthread_create(&thread, NULL, serve, &listener);
	serve(&listener);
	return 0;
}
