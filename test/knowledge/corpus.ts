/**
 * Documents in two languages about different topics, some of which share words, to test the ranking of the knowledge
 * base.
 */
export interface CorpusDocument {
  readonly uri: string;
  readonly text: string;
}

const ENGLISH: Readonly<Record<string, string>> = {
  sourdough: `# Baking sourdough bread
A starter is flour and water in which wild yeast lives. Feed it every morning.
## Baking
Heat the oven and a heavy pot to 240 degrees. Bake the loaf with the lid on for twenty minutes, then without it until the crust is dark.`,
  bicycle: `# Repairing a flat bicycle tyre
Take the wheel out and lift the tyre off the rim with two levers. Find the hole in the inner tube under water: bubbles rise from it.
Roughen the rubber, spread the glue, wait, and press the patch on.`,
  deploy: `# Deploying the application
The application is deployed with containers. Build the image, push it to the registry, and start it with \`docker compose up\`.
## Rolling back
Start the previous image again. The database keeps its migrations, so never remove a column in the same release.`,
  backup: `# Backing up the database
A backup is taken every night and kept for thirty days. It is encrypted before it leaves the machine.
## Restoring
Stop the service, fetch the backup, decrypt it, and restore it into an empty database. Test a restore each month.`,
  leave: `# Annual leave
Every employee has twenty-five days of paid leave a year. Ask your manager two weeks before.
Up to five unused days move into the next year; the rest expire in March.`,
  expenses: `# Travel expenses
Keep the receipts of trains, flights and hotels. Hand them in within four weeks with the form for reimbursement.
Meals are paid by a daily allowance and need no receipt.`,
  passwords: `# Passwords and sign-in
Use a password manager and a second factor. A password has at least fourteen characters and is never reused.
If you have forgotten your password, open the sign-in page and choose the link to reset it.`,
  volcano: `# How volcanoes erupt
Magma rises where plates part or sink below each other. Gas that is dissolved in it comes out as pressure falls, and drives the eruption.
Thick magma holds the gas longer and explodes; thin lava flows.`,
  photosynthesis: `# Photosynthesis
Plants make sugar out of carbon dioxide and water, with the light of the sun. Chlorophyll in the leaves takes up red and blue light, which is why leaves are green.
Oxygen is left over.`,
  chess: `# Castling in chess
The king moves two squares towards a rook, and the rook jumps over him. Neither may have moved before, no piece may stand between them, and the king may not pass a square under attack.`,
  violin: `# Tuning a violin
The strings are G, D, A and E, a fifth apart. Tune the A first, with a fork of 440 hertz. Turn the pegs gently: a string that is too tight snaps.`,
  espresso: `# Making espresso
Grind eighteen grams of coffee finely. Water of 93 degrees runs through it in about twenty-eight seconds and gives thirty-six grams in the cup.
If it runs too fast, grind finer.`,
  tomatoes: `# Growing tomatoes
Sow indoors in March and plant out after the last frost. Tie the stem to a stake, pinch out side shoots, and water the soil, never the leaves, or blight will come.`,
  mortgage: `# Mortgages with a fixed rate
The interest of the loan stays the same for ten or fifteen years. Paying back early costs a fee. The bank lends at most eighty per cent of what the house is worth.`,
  marathon: `# Training for a marathon
Run four times a week, three of them slowly. The long run grows by two kilometres a week up to thirty-two. Rest in the last two weeks before the race.`,
  tides: `# Why there are tides
The moon pulls the ocean on the near side more than the earth itself, and the earth more than the far side. So there are two bulges and two high tides a day. Sun and moon in line make a spring tide.`,
  insulin: `# Storing insulin
Keep unopened insulin in the fridge and never freeze it. The pen in use stays below thirty degrees for four weeks. Throw it away when it is cloudy and should be clear.`,
  webhooks: `# Webhooks
We send a POST request to your address for every event. Answer with status 200 within five seconds, or the delivery is retried with growing pauses for one day.
## Signatures
Each request has the header \`X-Signature\`: an HMAC of the body with your secret. Verify it before you trust the event. The function is \`verifySignature\`.`,
  rateLimits: `# Rate limits of the API
A key may make six hundred requests a minute. Beyond that the server answers 429 and the header \`Retry-After\` says how many seconds to wait.`,
  roman: `# How Romans built roads
Stones were laid in layers, the largest below, with a curved surface so that rain ran off into ditches. Legions built them straight, and a milestone stood at every thousand paces.`,
  onboarding: `# Onboarding new colleagues
On the first day you get a laptop, an account and a mentor. In the first week you read the handbook, deploy a small change and meet every team.`,
  // These mention everything and are the right answer to nothing.
  minutes: `# Minutes of Monday
We spoke about how to deploy the application faster, whether the database backup could be restored by anyone, and who has paid leave in the next year.
Somebody asked for the reimbursement of a hotel and had lost the receipts. The webhook of a customer failed: its signature could not be verified.
The API answered 429 for an hour. Two colleagues forgot their password. Coffee: the machine runs too fast. The house loan of the firm has a new interest rate.`,
  glossary: `# Words we use
Deploy: to bring a release to users. Backup: a copy of the database. Restore: to bring a backup back. Leave: days off. Key: who you are to the API. Retry: to ask again after a pause. Tide, string, king, rook: names of our servers. Race: two writers at once.`,
};

const CHINESE: Readonly<Record<string, string>> = {
  部署: `# 部署指南
应用使用容器部署。先构建镜像并推送到镜像仓库，再运行 docker compose up 启动服务。
## 回滚
重新启动上一个版本的镜像即可。`,
  备份: `# 数据库备份
每天夜里自动备份一次，保留三十天。备份文件在离开服务器之前会被加密。
## 恢复
停止服务，下载备份，解密后导入空的数据库。每个月演练一次恢复。`,
  年假: `# 年假制度
每位员工每年有二十五天带薪年假，请提前两周向主管申请。未使用的假期最多可以结转五天。`,
  报销: `# 差旅报销
保留火车票、机票和酒店的发票，四周之内填写报销单交给财务。餐费按天补贴，不需要发票。`,
  密码: `# 密码与登录
请使用密码管理器并开启双重验证。忘记密码时，在登录页面点击链接重置密码。`,
  茶: `# 泡绿茶
水温八十度，茶叶三克，浸泡两分钟。水太烫会让茶汤发苦。`,
  面条: `# 手擀面的做法
面粉加水和少许盐，揉成光滑的面团，醒半小时。擀薄之后折叠，切成细条，下锅煮三分钟。`,
  月亮: `# 潮汐的成因
月球的引力使海水隆起，地球两侧各有一处，所以一天有两次涨潮。太阳与月球成一线时出现大潮。`,
  火山: `# 火山为什么会喷发
岩浆上升时压力降低，溶解在其中的气体析出，推动喷发。黏稠的岩浆容易爆炸，稀薄的熔岩则缓缓流出。`,
  光合: `# 光合作用
植物利用阳光把二氧化碳和水变成糖，并放出氧气。叶绿素吸收红光和蓝光，所以叶子看起来是绿色的。`,
  围棋: `# 围棋入门
双方轮流在交叉点上落子，被围住没有气的棋子要提走。终局时占地多的一方获胜。`,
  二胡: `# 二胡的调弦
内弦定 D，外弦定 A，相差五度。先用音叉校准外弦，再慢慢转动琴轸。`,
  马拉松: `# 马拉松训练计划
每周跑四次，其中三次慢跑。长距离每周增加两公里，赛前两周减量休息。`,
  房贷: `# 固定利率房贷
利率在十年内保持不变，提前还款要付违约金。银行最多贷出房价的八成。`,
  番茄: `# 种植番茄
三月在室内播种，霜期过后移栽。及时打掉侧枝，浇水只浇土壤，不要浇叶子，以免得病。`,
  胰岛素: `# 胰岛素的保存
未开封的胰岛素放在冰箱冷藏，切勿冷冻。使用中的笔在三十度以下可以存放四周。`,
  回调: `# 网络回调
每个事件我们都会向你的地址发送 POST 请求。五秒内返回 200，否则会在一天之内逐渐延长间隔重试。
## 签名
请求头 X-Signature 是用密钥对请求体计算的 HMAC，信任事件之前请先验证签名。`,
  限流: `# 接口限流
每个密钥每分钟最多六百次请求，超出后服务器返回 429，并在 Retry-After 中说明需要等待的秒数。`,
  长城: `# 长城的修建
长城依山而建，砖石在外，夯土在内。烽火台用烟和火传递军情。`,
  入职: `# 新员工入职
第一天领取电脑和账号，并认识导师。第一周阅读手册，提交一个小改动，与各个团队见面。`,
  自行车: `# 自行车补胎
取下车轮，用撬棒拆下外胎，把内胎放进水里找到冒泡的地方。打磨、涂胶，再贴上补片。`,
  周会: `# 周一例会记录
大家讨论了怎么加快应用部署，数据库备份能不能由任何人恢复，以及谁在下个月休年假。有人的酒店发票丢了，问能不能报销。
客户的回调失败，原因是没有验证签名。接口一小时内一直返回 429，每分钟请求次数太多。两位同事忘记密码。新员工的电脑还没有到。`,
  词汇: `# 常用词汇
部署：把新版本交给用户。回滚：退回上一个版本。备份：数据库的副本。恢复：把备份导回去。重试：过一会儿再请求一次。长城、火山、番茄：我们的服务器名字。`,
};

export const CORPUS: readonly CorpusDocument[] = [
  ...Object.entries(ENGLISH).map(([name, text]) => ({ uri: `en/${name}`, text })),
  ...Object.entries(CHINESE).map(([name, text]) => ({ uri: `zh/${name}`, text })),
];

/** What is asked, and the document that must come first. */
export const QUESTIONS: readonly (readonly [query: string, uri: string])[] = [
  ["How do I deploy the application?", "en/deploy"],
  ["rolling back a deployment", "en/deploy"],
  ["restore a database from backup", "en/backup"],
  ["how long are backups kept", "en/backup"],
  ["How many vacation days do I have? paid leave", "en/leave"],
  ["unused leave next year", "en/leave"],
  ["hand in receipts for my hotel", "en/expenses"],
  ["reimbursement", "en/expenses"],
  ["I forgot my password", "en/passwords"],
  ["What makes a volcano explode?", "en/volcano"],
  ["why are leaves green", "en/photosynthesis"],
  ["can the king jump over a rook", "en/chess"],
  ["which string of the violin is tuned first", "en/violin"],
  ["coffee runs too fast through the machine", "en/espresso"],
  ["tomato blight", "en/tomatoes"],
  ["interest rate of a house loan", "en/mortgage"],
  ["running training before the race", "en/marathon"],
  ["why are there two high tides a day", "en/tides"],
  ["can insulin be frozen", "en/insulin"],
  ["verify the signature of a webhook", "en/webhooks"],
  ["verifySignature", "en/webhooks"],
  ["Retry-After 429", "en/rateLimits"],
  ["Roman road", "en/roman"],
  ["laptop and mentor on the first day", "en/onboarding"],
  ["puncture: find the hole in the inner tube", "en/bicycle"],
  ["oven temperature for a loaf", "en/sourdough"],
  ["部署", "zh/部署"],
  ["如何部署应用", "zh/部署"],
  ["部署文档", "zh/部署"],
  ["怎么回滚", "zh/部署"],
  ["备份保留多久", "zh/备份"],
  ["如何恢复数据库", "zh/备份"],
  ["年假有多少天", "zh/年假"],
  ["酒店发票怎么报销", "zh/报销"],
  ["忘记密码怎么办", "zh/密码"],
  ["泡茶的水温", "zh/茶"],
  ["茶", "zh/茶"],
  ["手擀面怎么做", "zh/面条"],
  ["为什么一天有两次涨潮", "zh/月亮"],
  ["火山喷发的原因", "zh/火山"],
  ["叶子为什么是绿色的", "zh/光合"],
  ["围棋怎么算赢", "zh/围棋"],
  ["二胡怎么调音", "zh/二胡"],
  ["跑步训练", "zh/马拉松"],
  ["提前还款要付什么", "zh/房贷"],
  ["番茄浇水", "zh/番茄"],
  ["胰岛素可以冷冻吗", "zh/胰岛素"],
  ["验证签名", "zh/回调"],
  ["每分钟请求次数", "zh/限流"],
  ["长城是怎么修建的", "zh/长城"],
  ["新员工第一天做什么", "zh/入职"],
  ["自行车轮胎漏气", "zh/自行车"],
];

/** Asked of the handbook and the guides together, with the page that must come first. */
export const PAGE_QUESTIONS: readonly (readonly [query: string, page: string])[] = [
  ["callbacks", "guides/use-callbacks.md"],
  ["how to write a tool", "guides/write-a-tool.md"],
  ["how do I use metrics", "guides/use-metrics.md"],
  ["build a graph", "guides/build-a-graph.md"],
  ["MCP servers", "guides/use-mcp-servers.md"],
  ["compress long prompts", "guides/compress-the-context.md"],
  ["traces with opentelemetry", "guides/use-traces-and-logs.md"],
  ["follow a session", "guides/follow-a-session.md"],
  ["how does resume work", "handbook/en/resume-and-durability.md"],
  ["how do I deploy it", "handbook/en/deployment-guide.md"],
  ["What is Loom?", "handbook/en/what-is-loom.md"],
  ["Loom 是什么", "handbook/zh/what-is-loom.md"],
  ["如何恢复运行", "handbook/zh/resume-and-durability.md"],
  ["备份存储", "handbook/zh/backup-and-maintenance.md"],
  ["怎么审批工具", "handbook/zh/tools-and-approval.md"],
  ["知识库支持哪些格式", "handbook/zh/knowledge-base.md"],
  ["指标有哪些", "handbook/zh/observe.md"],
  ["断线的客户端怎么办", "handbook/zh/resume-and-durability.md"],
];

/** Messages that have nothing to do with the documents. */
export const SMALL_TALK: readonly string[] = [
  "hello",
  "hi there",
  "how are you",
  "thanks!",
  "What is the capital of France?",
  "write a poem about the sea",
  "tell me a joke",
  "who won the world cup in 1998",
  "1+1",
  "what time is it",
  "你好",
  "谢谢",
  "你是谁",
  "帮我写一首诗",
  "讲个笑话",
  "推荐一部电影",
];
