/*
 * The least limits under which each of many runs ended well, on a machine with two cores. Between 1.1 and 1.6 GiB of address
 * space most failed. What each further job of a batch takes was measured with 4 and with 20.
 */
#define HEADROOM_SPACE (2ULL << 30)
#define HEADROOM_SPACE_JOB (64ULL << 20)
#define HEADROOM_DATA (256ULL << 20)
#define HEADROOM_DATA_JOB (16ULL << 20)
#define HEADROOM_STACK (128ULL << 10)
#define HEADROOM_FILE (1ULL << 20) /* the catalog and its log grow to that */
#define HEADROOM_FILES 40          /* of the launcher, of a run without inputs */
