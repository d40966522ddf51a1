/*
 * The least limits under which each of many runs ended well, on a machine with two cores. Between 1.1 and 1.6 GiB of address
 * space most failed. What more jobs of a batch take was seen with 4 and 20 of them.
 */
#define ROOM_SPACE (2ULL << 30)
#define ROOM_SPACE_JOB (64ULL << 20)
#define ROOM_DATA (256ULL << 20)
#define ROOM_DATA_JOB (16ULL << 20)
#define ROOM_STACK (128ULL << 10)
#define ROOM_FILE (1ULL << 20) /* the catalog and its log grow to that */
#define ROOM_FILES 40          /* of the launcher, of a run without inputs */
