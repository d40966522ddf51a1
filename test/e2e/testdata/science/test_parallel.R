#!/usr/bin/Rscript
# parallel: forked workers, and clusters of processes that talk over loopback.

library(parallel)
RNGkind("L'Ecuyer-CMRG")
source(file.path("/analysis", "check.R"))

test("mclapply", {
  squares <- mclapply(1:20, function(x) c(x^2, Sys.getpid()), mc.cores = 2)
  stopifnot(identical(vapply(squares, `[`, 0, 1), (1:20)^2))
  stopifnot(length(unique(vapply(squares, `[`, 0, 2))) == 2)
})

test("there are as many workers as processors", {
  stopifnot(identical(getOption("mc.cores"), as.integer(Sys.getenv("OMP_NUM_THREADS"))))
})

test("the random numbers of workers repeat", {
  draw <- function() {
    set.seed(1)
    unlist(mclapply(1:4, function(i) rnorm(1), mc.cores = 2))
  }
  stopifnot(identical(draw(), draw()), length(unique(draw())) == 4)
})

test("a worker that dies is noticed", {
  die <- function(x) if (x == 1) tools::pskill(Sys.getpid(), 9) else x
  half <- suppressWarnings(mclapply(1:2, die, mc.cores = 2))
  stopifnot(is.null(half[[1]]), identical(half[[2]], 2L))
})

through <- function(type) {
  cluster <- makeCluster(2, type = type)
  on.exit(stopCluster(cluster))
  stopifnot(length(unique(unlist(clusterCall(cluster, Sys.getpid)))) == 2)
  factor <- 3
  clusterExport(cluster, "factor", environment())
  stopifnot(identical(parSapply(cluster, 1:10, function(x) x * factor), 1:10 * 3))
  stopifnot(identical(unlist(clusterApplyLB(cluster, 1:5, function(x) -x)), -(1:5)))
}

test("cluster of new processes", through("PSOCK"))

test("cluster of forked processes", through("FORK"))

test("background jobs", {
  jobs <- list(mcparallel(sum(1:10)), mcparallel(prod(1:5)))
  stopifnot(identical(unname(unlist(mccollect(jobs))), c(55, 120)))
})

test("sockets and pipes", {
  server <- serverSocket(18765)
  client <- socketConnection("localhost", 18765, open = "r+b", blocking = TRUE)
  accepted <- socketAccept(server, open = "r+b", blocking = TRUE)
  writeLines("over loopback", client)
  flush(client)
  stopifnot(readLines(accepted, 1) == "over loopback")
  for (connection in list(client, accepted, server)) close(connection)
  stopifnot(system("echo $((6 * 7))", intern = TRUE) == "42", system2("sh", c("-c", shQuote("exit 3"))) == 3)
})
