#!/usr/bin/Rscript
# Models, matrices and tables, with results that are known otherwise.

source(file.path("/analysis", "check.R"))

test("linear model", {
  # The data of R's own manual, ?lm: weights of plants, Annette Dobson 1990.
  control <- c(4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14)
  treated <- c(4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69)
  fit <- lm(c(control, treated) ~ gl(2, 10))
  stopifnot(all.equal(unname(coef(fit)), c(5.032, -0.371)))
  stopifnot(all.equal(summary(fit)$r.squared, 0.07307760, tolerance = 1e-6))
})

test("penguins", {
  penguins <- read.csv("data/penguins.csv", na.strings = "")
  stopifnot(nrow(penguins) == 344, sum(is.na(penguins$sex)) == 11)
  mass <- tapply(penguins$body_mass_g, penguins$species, mean, na.rm = TRUE)
  stopifnot(all.equal(as.vector(mass), c(3700.662252, 3733.088235, 5076.016260), tolerance = 1e-9))
  fit <- lm(body_mass_g ~ flipper_length_mm, penguins)
  stopifnot(all.equal(unname(coef(fit)), c(-5780.83136, 49.68557), tolerance = 1e-7))
})

test("matrices", {
  set.seed(1)
  a <- matrix(rnorm(250000), 500)
  stopifnot(all.equal(solve(a, a %*% 1:500)[, 1], as.numeric(1:500), tolerance = 1e-6))
  s <- svd(a)
  stopifnot(all.equal(s$u %*% diag(s$d) %*% t(s$v), a))
  stopifnot(all.equal(eigen(matrix(c(2, 1, 1, 2), 2))$values, c(3, 1)))
  stopifnot(all.equal(Mod(fft(cos(2 * pi * 5 * (0:63) / 64)))[6], 32))
})

test("tests and optimisation", {
  stopifnot(all.equal(t.test(extra ~ group, sleep, var.equal = TRUE)$p.value, 0.07918671, tolerance = 1e-6))
  found <- optim(c(-1.2, 1), function(x) 100 * (x[2] - x[1]^2)^2 + (1 - x[1])^2, method = "BFGS")
  stopifnot(all.equal(found$par, c(1, 1), tolerance = 1e-3))
  stopifnot(all.equal(integrate(dnorm, -1.96, 1.96)$value, 0.9500042, tolerance = 1e-6))
})

test("files", {
  stopifnot(startsWith(tempdir(), "/tmp/"), dir.exists(tempdir()))
  scratch <- tempfile(fileext = ".rds")
  saveRDS(mtcars, scratch)
  stopifnot(identical(readRDS(scratch), mtcars))
  write.csv(mtcars, gzfile("/work/cars.csv.gz"))
  stopifnot(all.equal(colMeans(read.csv("/work/cars.csv.gz", row.names = 1)), colMeans(mtcars)))
  stopifnot(file.copy("data/penguins.csv", "/work/copy.csv"))
  stopifnot(tools::md5sum("/work/copy.csv") == tools::md5sum("data/penguins.csv"))
  tar("/tmp/a.tar.gz", "copy.csv", "gzip")
  untar("/tmp/a.tar.gz", exdir = tempdir())
  stopifnot(file.exists(file.path(tempdir(), "copy.csv")))
})

test("surroundings", {
  stopifnot(Sys.timezone() == "UTC", l10n_info()[["UTF-8"]], Sys.info()[["nodename"]] == "scidex")
  stopifnot(nchar(enc2utf8("größe")) == 5, sort(c("b", "a"))[1] == "a", parallel::detectCores() >= 1)
  stopifnot(normalizePath("~") == "/home/analysis")
})

test("packages", {
  # One is made, installed where the analysis may write, and loaded.
  place <- file.path(tempdir(), "library")
  dir.create(place)
  add <- function(a, b) a + b
  suppressMessages(package.skeleton("plus", "add", environment(), tempdir()))
  unlink(file.path(tempdir(), "plus", "man"), recursive = TRUE)
  install.packages(file.path(tempdir(), "plus"), place, repos = NULL, type = "source", quiet = TRUE)
  stopifnot(library(plus, lib.loc = place, logical.return = TRUE), plus::add(2, 3) == 5)
})
