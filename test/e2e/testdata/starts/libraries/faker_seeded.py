from faker import Faker

fake = Faker()
fake.seed(5)
print(fake.name(), fake.random_int(0, 10 ** 9))
