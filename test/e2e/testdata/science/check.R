# A test is a name and an expression that stops where a result is wrong. Reports like Python's unittest.
test <- function(name, expression) {
  body <- substitute(expression)
  tryCatch(eval(call("local", body), new.env(parent = globalenv())), error = function(wrong) {
    message(name, " ... ", conditionMessage(wrong))
    quit(status = 1)
  })
  message(name, " ... ok")
}
