/* A freeDiameter node that generates requests or answers them: its packages carry no test application.
 *
 * The extension's configuration file has one `key = value` a line:
 *
 *   mode = client | server          report = FILE (JSON, replaced atomically every 100 ms and at the end)
 *   application, vendor, command    numbers; defaults 16777251, 10415, 316
 *
 * client: realm, host (optional), count, rate (requests/s, 0: as fast as `concurrency` lets), concurrency, payload (bytes
 *         of a Class AVP), timeout_ms. Starts once a peer is open; the report's "done" turns true when all is settled.
 * server: result_code, delay_ms, silent (0 | 1), origin_host (default: the node's own). These four are read again when
 *         the file named by `control` changes, which has the same form.
 */
#include <freeDiameter/extension.h>
#include <sys/stat.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 256, SLOTS = 16, MAX_LATENCIES = 1 << 20 };

struct settings {
	char mode[NAME], report[NAME], realm[NAME], host[NAME], control[NAME];
	uint32_t application, vendor, command;
	long count, rate, concurrency, payload, timeout_ms;
};

/* What a server does with a request; may change while it runs. */
struct conduct {
	uint32_t result_code;
	long delay_ms;
	int silent;
	char origin_host[NAME];
};

struct tally {
	char key[NAME];
	long n;
};

struct pending {
	int64_t sent_us;
};

struct delayed {
	struct delayed *next;
	struct msg *request;
	int64_t due_us;
	struct conduct conduct;
};

static struct settings set = { "", "", "", "", "", 16777251, 10415, 316, 1, 0, 1, 0, 5000 };
static struct conduct conduct = { 2001, 0, 0, "" };

static struct dict_object *d_request, *d_session, *d_origin_host, *d_origin_realm, *d_dest_host, *d_dest_realm,
	*d_class, *d_result, *d_auth_session_state;
static struct disp_hdl *handle;
static pthread_t worker, reporter, delayer;
static int has_worker, has_reporter, has_delayer;
static sem_t slots;
static atomic_int stopping, done;

/* Everything below is guarded by `lock`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER;
static long sent, answered, timeouts, failures, received, retransmitted, error_bit;
static struct tally codes[SLOTS], origins[SLOTS];
static int64_t first_us, last_us;
static uint32_t *latencies;
static long n_latencies;
static struct delayed *head, **tail = &head;

static int64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void sleep_until_us(int64_t due)
{
	struct timespec t = { due / 1000000, due % 1000000 * 1000 };
	while (!stopping && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) { }
}

static void count(struct tally *table, const char *key)
{
	int i;
	for (i = 0; i < SLOTS - 1 && table[i].n && strcmp(table[i].key, key); i++) { }
	snprintf(table[i].key, NAME, "%s", key);
	table[i].n++;
}

/* === configuration === */

static void read_settings(const char *path, struct conduct *how)
{
	char line[512], key[64], value[NAME];
	FILE *f = fopen(path, "r");
	if (!f) {
		fd_log_error("governor_peer: cannot open %s", path);
		return;
	}
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, " %63[a-z_] = %255s", key, value) != 2)
			continue;
		long n = atol(value);
#define TEXT(name) if (!strcmp(key, #name)) snprintf(set.name, NAME, "%s", value)
#define NUMBER(name) if (!strcmp(key, #name)) set.name = n
		TEXT(mode); TEXT(report); TEXT(realm); TEXT(host); TEXT(control);
		NUMBER(application); NUMBER(vendor); NUMBER(command); NUMBER(count); NUMBER(rate); NUMBER(concurrency);
		NUMBER(payload); NUMBER(timeout_ms);
		if (!strcmp(key, "result_code")) how->result_code = n;
		if (!strcmp(key, "delay_ms")) how->delay_ms = n;
		if (!strcmp(key, "silent")) how->silent = n;
		if (!strcmp(key, "origin_host")) snprintf(how->origin_host, NAME, "%s", value);
	}
	fclose(f);
}

static void watch_control(void)
{
	static struct timespec seen;
	struct stat st;
	if (!*set.control || stat(set.control, &st))
		return;
	if (st.st_mtim.tv_sec == seen.tv_sec && st.st_mtim.tv_nsec == seen.tv_nsec)
		return;
	seen = st.st_mtim;
	struct conduct fresh = { 2001, 0, 0, "" };
	read_settings(set.control, &fresh);
	pthread_mutex_lock(&lock);
	conduct = fresh;
	pthread_mutex_unlock(&lock);
}

/* === report === */

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static void put_table(FILE *f, const char *name, const struct tally *table)
{
	fprintf(f, "\"%s\":{", name);
	for (int i = 0; i < SLOTS && table[i].n; i++)
		fprintf(f, "%s\"%s\":%ld", i ? "," : "", table[i].key, table[i].n);
	fprintf(f, "},");
}

static void report(void)
{
	char tmp[NAME + 8];
	snprintf(tmp, sizeof tmp, "%s.tmp", set.report);
	FILE *f = fopen(tmp, "w");
	if (!f)
		return;
	pthread_mutex_lock(&lock);
	long p50 = 0, p99 = 0;
	if (done && n_latencies) {
		qsort(latencies, n_latencies, sizeof *latencies, by_value);
		p50 = latencies[n_latencies / 2];
		p99 = latencies[n_latencies * 99 / 100];
	}
	fprintf(f, "{\"done\":%s,\"sent\":%ld,\"answered\":%ld,\"timeouts\":%ld,\"failures\":%ld,\"received\":%ld,"
		"\"retransmitted\":%ld,\"error_bit\":%ld,", done ? "true" : "false", sent, answered, timeouts, failures,
		received, retransmitted, error_bit);
	put_table(f, "codes", codes);
	put_table(f, "origins", origins);
	fprintf(f, "\"elapsed_ms\":%ld,\"p50_us\":%ld,\"p99_us\":%ld}\n", (long)((last_us - first_us) / 1000), p50, p99);
	pthread_mutex_unlock(&lock);
	fclose(f);
	rename(tmp, set.report);
}

static void *report_loop(void *unused)
{
	(void)unused;
	while (!stopping) {
		watch_control();
		report();
		usleep(100000);
	}
	return NULL;
}

/* === AVPs === */

static int put(struct msg *msg, enum msg_brw_dir where, struct dict_object *model, const void *data, size_t length)
{
	struct avp *avp;
	union avp_value value = { .os = { (uint8_t *)data, length } };
	CHECK_FCT(fd_msg_avp_new(model, 0, &avp));
	CHECK_FCT(fd_msg_avp_setvalue(avp, &value));
	return fd_msg_avp_add(msg, where, avp);
}

static int put_u32(struct msg *msg, struct dict_object *model, uint32_t number)
{
	struct avp *avp;
	union avp_value value = { .u32 = number };
	CHECK_FCT(fd_msg_avp_new(model, 0, &avp));
	CHECK_FCT(fd_msg_avp_setvalue(avp, &value));
	return fd_msg_avp_add(msg, MSG_BRW_LAST_CHILD, avp);
}

static struct avp_hdr *find(struct msg *msg, struct dict_object *model)
{
	struct avp *avp = NULL;
	struct avp_hdr *header = NULL;
	if (fd_msg_search_avp(msg, model, &avp) || !avp || fd_msg_avp_hdr(avp, &header) || !header->avp_value)
		return NULL;
	return header;
}

static void text_of(struct msg *msg, struct dict_object *model, char out[NAME])
{
	struct avp_hdr *h = find(msg, model);
	snprintf(out, NAME, "%.*s", h ? (int)h->avp_value->os.len : 0, h ? (char *)h->avp_value->os.data : "");
}

/* === client === */

static void settled(struct pending *p)
{
	free(p);
	sem_post(&slots);
}

static void on_answer(void *data, struct msg **msg)
{
	struct pending *p = data;
	char code[NAME] = "none", origin[NAME];
	struct msg_hdr *header = NULL;
	struct avp_hdr *h = find(*msg, d_result);
	if (h)
		snprintf(code, NAME, "%u", h->avp_value->u32);
	text_of(*msg, d_origin_host, origin);
	fd_msg_hdr(*msg, &header);
	pthread_mutex_lock(&lock);
	last_us = now_us();
	answered++;
	if (header && header->msg_flags & CMD_FLAG_ERROR)
		error_bit++;
	count(codes, code);
	count(origins, origin);
	if (n_latencies < MAX_LATENCIES)
		latencies[n_latencies++] = last_us - p->sent_us;
	pthread_mutex_unlock(&lock);
	fd_msg_free(*msg);
	*msg = NULL;
	settled(p);
}

static void on_timeout(void *data, DiamId_t to, size_t to_len, struct msg **msg)
{
	(void)to; (void)to_len;
	pthread_mutex_lock(&lock);
	timeouts++;
	last_us = now_us();
	pthread_mutex_unlock(&lock);
	fd_msg_free(*msg);
	*msg = NULL;
	settled(data);
}

static int send_one(long n, const uint8_t *payload)
{
	struct msg *msg = NULL;
	struct pending *p = malloc(sizeof *p);
	struct timespec until;
	char session[NAME * 2];
	if (!p)
		return ENOMEM;
	CHECK_FCT(fd_msg_new(d_request, MSGFL_ALLOC_ETEID, &msg));
	snprintf(session, sizeof session, "%s;%u;%ld", fd_g_config->cnf_diamid, fd_g_config->cnf_orstateid, n);
	CHECK_FCT(put(msg, MSG_BRW_FIRST_CHILD, d_session, session, strlen(session)));
	CHECK_FCT(fd_msg_add_origin(msg, 0));
	CHECK_FCT(put(msg, MSG_BRW_LAST_CHILD, d_dest_realm, set.realm, strlen(set.realm)));
	if (*set.host)
		CHECK_FCT(put(msg, MSG_BRW_LAST_CHILD, d_dest_host, set.host, strlen(set.host)));
	CHECK_FCT(put_u32(msg, d_auth_session_state, 1));
	if (set.payload)
		CHECK_FCT(put(msg, MSG_BRW_LAST_CHILD, d_class, payload, set.payload));
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += set.timeout_ms / 1000;
	until.tv_nsec += set.timeout_ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	p->sent_us = now_us();
	return fd_msg_send_timeout(&msg, on_answer, p, on_timeout, &until);
}

static int a_peer_is_open(void)
{
	int open = 0;
	pthread_rwlock_rdlock(&fd_g_peers_rw);
	for (struct fd_list *li = fd_g_peers.next; li != &fd_g_peers; li = li->next)
		open |= fd_peer_get_state((struct peer_hdr *)li->o) == STATE_OPEN;
	pthread_rwlock_unlock(&fd_g_peers_rw);
	return open;
}

static void *client_loop(void *unused)
{
	(void)unused;
	uint8_t *payload = calloc(1, set.payload + 1);
	fd_core_waitstartcomplete();
	while (!stopping && !a_peer_is_open())
		usleep(10000);
	int64_t start = now_us();
	pthread_mutex_lock(&lock);
	first_us = start;
	pthread_mutex_unlock(&lock);
	for (long n = 0; n < set.count && !stopping && payload; n++) {
		if (set.rate)
			sleep_until_us(start + n * 1000000 / set.rate);
		sem_wait(&slots);
		if (stopping)
			break;
		pthread_mutex_lock(&lock);
		sent++;
		pthread_mutex_unlock(&lock);
		if (send_one(n, payload)) {
			pthread_mutex_lock(&lock);
			failures++;
			pthread_mutex_unlock(&lock);
			sem_post(&slots);
		}
	}
	/* All slots free again: everything sent is answered or timed out. */
	for (long n = 0; n < set.concurrency && !stopping; n++)
		sem_wait(&slots);
	if (!stopping)
		done = 1;
	free(payload);
	return NULL;
}

/* === server === */

static int make_answer(struct msg **msg, const struct conduct *how)
{
	struct msg_hdr *header;
	const char *origin = *how->origin_host ? how->origin_host : fd_g_config->cnf_diamid;
	CHECK_FCT(fd_msg_new_answer_from_req(fd_g_config->cnf_dict, msg, 0));
	CHECK_FCT(put_u32(*msg, d_result, how->result_code));
	CHECK_FCT(put(*msg, MSG_BRW_LAST_CHILD, d_origin_host, origin, strlen(origin)));
	CHECK_FCT(put(*msg, MSG_BRW_LAST_CHILD, d_origin_realm, fd_g_config->cnf_diamrlm, fd_g_config->cnf_diamrlm_len));
	CHECK_FCT(fd_msg_hdr(*msg, &header));
	if (how->result_code / 1000 == 3)
		header->msg_flags |= CMD_FLAG_ERROR;
	return 0;
}

static int on_request(struct msg **msg, struct avp *avp, struct session *sess, void *data, enum disp_action *act)
{
	(void)avp; (void)sess; (void)data;
	struct msg_hdr *header;
	struct conduct how;
	char origin[NAME];
	CHECK_FCT(fd_msg_hdr(*msg, &header));
	text_of(*msg, d_origin_host, origin);
	pthread_mutex_lock(&lock);
	received++;
	if (header->msg_flags & CMD_FLAG_RETRANSMIT)
		retransmitted++;
	count(origins, origin);
	how = conduct;
	last_us = now_us();
	if (!first_us)
		first_us = last_us;
	pthread_mutex_unlock(&lock);

	*act = DISP_ACT_CONT;
	if (how.silent) {
		fd_msg_free(*msg);
		*msg = NULL;
		return 0;
	}
	if (how.delay_ms) {
		struct delayed *d = calloc(1, sizeof *d);
		if (!d)
			return ENOMEM;
		d->request = *msg;
		d->due_us = now_us() + how.delay_ms * 1000;
		d->conduct = how;
		*msg = NULL;
		pthread_mutex_lock(&lock);
		*tail = d;
		tail = &d->next;
		pthread_cond_signal(&queued);
		pthread_mutex_unlock(&lock);
		return 0;
	}
	CHECK_FCT(make_answer(msg, &how));
	pthread_mutex_lock(&lock);
	answered++;
	pthread_mutex_unlock(&lock);
	*act = DISP_ACT_SEND;
	return 0;
}

static void *delay_loop(void *unused)
{
	(void)unused;
	while (!stopping) {
		pthread_mutex_lock(&lock);
		while (!head && !stopping)
			pthread_cond_wait(&queued, &lock);
		struct delayed *d = head;
		if (d && !(head = d->next))
			tail = &head;
		pthread_mutex_unlock(&lock);
		if (!d)
			break;
		sleep_until_us(d->due_us);
		if (!make_answer(&d->request, &d->conduct) && !fd_msg_send(&d->request, NULL, NULL)) {
			pthread_mutex_lock(&lock);
			answered++;
			pthread_mutex_unlock(&lock);
		}
		free(d);
	}
	return NULL;
}

/* === entry === */

static int lookup(const char *name, struct dict_object **out)
{
	return fd_dict_search(fd_g_config->cnf_dict, DICT_AVP, AVP_BY_NAME, name, out, ENOENT);
}

static int dictionary(struct dict_object **application, struct dict_object **vendor, struct dict_object **command)
{
	struct dictionary *dict = fd_g_config->cnf_dict;
	struct dict_application_data app = { set.application, "Governor test application" };
	struct dict_vendor_data ven = { set.vendor, "Governor test vendor" };
	struct dict_cmd_data req = { set.command, "Governor-Test-Request", CMD_FLAG_REQUEST | CMD_FLAG_PROXIABLE,
		CMD_FLAG_REQUEST | CMD_FLAG_PROXIABLE };
	struct dict_cmd_data ans = { set.command, "Governor-Test-Answer", CMD_FLAG_REQUEST, 0 };
	CHECK_FCT(fd_dict_search(dict, DICT_VENDOR, VENDOR_BY_ID, &set.vendor, vendor, 0));
	if (!*vendor)
		CHECK_FCT(fd_dict_new(dict, DICT_VENDOR, &ven, NULL, vendor));
	CHECK_FCT(fd_dict_new(dict, DICT_APPLICATION, &app, *vendor, application));
	CHECK_FCT(fd_dict_new(dict, DICT_COMMAND, &req, *application, command));
	CHECK_FCT(fd_dict_new(dict, DICT_COMMAND, &ans, *application, NULL));
	CHECK_FCT(lookup("Session-Id", &d_session));
	CHECK_FCT(lookup("Origin-Host", &d_origin_host));
	CHECK_FCT(lookup("Origin-Realm", &d_origin_realm));
	CHECK_FCT(lookup("Destination-Host", &d_dest_host));
	CHECK_FCT(lookup("Destination-Realm", &d_dest_realm));
	CHECK_FCT(lookup("Class", &d_class));
	CHECK_FCT(lookup("Result-Code", &d_result));
	return lookup("Auth-Session-State", &d_auth_session_state);
}

static int entry(char *conffile)
{
	struct dict_object *application = NULL, *vendor = NULL;
	struct disp_when when;
	if (!conffile) {
		fd_log_error("governor_peer: needs a configuration file");
		return EINVAL;
	}
	read_settings(conffile, &conduct);
	latencies = calloc(MAX_LATENCIES, sizeof *latencies);
	if (!latencies)
		return ENOMEM;
	CHECK_FCT(dictionary(&application, &vendor, &d_request));
	CHECK_FCT(fd_disp_app_support(application, vendor, 1, 0));
	CHECK_POSIX(pthread_create(&reporter, NULL, report_loop, NULL));
	has_reporter = 1;
	if (!strcmp(set.mode, "client")) {
		sem_init(&slots, 0, set.concurrency);
		CHECK_POSIX(pthread_create(&worker, NULL, client_loop, NULL));
		has_worker = 1;
		return 0;
	}
	memset(&when, 0, sizeof when);
	when.app = application;
	when.command = d_request;
	CHECK_POSIX(pthread_create(&delayer, NULL, delay_loop, NULL));
	has_delayer = 1;
	return fd_disp_register(on_request, DISP_HOW_CC, &when, NULL, &handle);
}

void fd_ext_fini(void)
{
	stopping = 1;
	if (handle)
		fd_disp_unregister(&handle, NULL);
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&queued);
	pthread_mutex_unlock(&lock);
	if (has_worker) {
		sem_post(&slots);
		pthread_join(worker, NULL);
	}
	if (has_delayer)
		pthread_join(delayer, NULL);
	if (has_reporter)
		pthread_join(reporter, NULL);
	report();
}

EXTENSION_ENTRY("governor_peer", entry);
